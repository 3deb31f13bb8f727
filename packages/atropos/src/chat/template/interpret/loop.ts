import type { Runtime } from "../runtime.ts"
import { typeError } from "../values/errors.ts"
import { lengthOf } from "../values/iterate.ts"
import { equals } from "../values/operators.ts"
import { Callable, Tuple, Undefined, type Arguments, type Value } from "../values/value.ts"

/** The `loop` variable: looks ahead only when it is asked to, since an iterable may change with what the body does. */
export class LoopContext extends Callable {
  readonly #iterable: Value
  readonly #source: Iterator<Value>
  readonly #depth0: number
  readonly #runtime: Runtime
  #ahead: Value[] = []
  #exhausted = false
  #index0 = -1
  #current: Value | undefined
  #before: Value | undefined
  #length: number | undefined
  #changed: Value | undefined

  constructor(
    iterable: Value,
    source: Iterator<Value>,
    depth0: number,
    runtime: Runtime,
    recurse: ((iterable: Value, depth0: number) => Value) | undefined,
  ) {
    super(
      "loop",
      (args: Arguments) => {
        const [inner] = args.bind("loop", ["iterable"], 1)
        if (recurse === undefined)
          throw typeError("The loop must have the 'recursive' marker to be called recursively.")
        return recurse(inner ?? null, depth0 + 1)
      },
      "LoopContext",
    )
    this.#iterable = iterable
    this.#source = source
    this.#depth0 = depth0
    this.#runtime = runtime
  }

  /** The next element, or undefined at the end. */
  next(): Value | undefined {
    const value = this.#ahead.length > 0 ? this.#ahead.shift() : this.#pull()
    if (value === undefined) return undefined
    this.#index0 += 1
    this.#before = this.#current
    this.#current = value
    return value
  }

  #pull(): Value | undefined {
    if (this.#exhausted) return undefined
    const next = this.#source.next()
    if (next.done === true) {
      this.#exhausted = true
      return undefined
    }
    return next.value
  }

  #peek(): Value | undefined {
    if (this.#ahead.length === 0) {
      const value = this.#pull()
      if (value !== undefined) this.#ahead.push(value)
    }
    return this.#ahead[0]
  }

  get length(): number {
    if (this.#length === undefined) {
      // A filtered loop has the length of what passes, as Python's generator has none of its own.
      let length = lengthOf(this.#iterable)
      if (length === undefined) {
        for (let value = this.#pull(); value !== undefined; value = this.#pull()) this.#ahead.push(value)
        this.#runtime.budget.list(this.#ahead.length)
        length = this.#index0 + 1 + this.#ahead.length
      }
      this.#length = length
    }
    return this.#length
  }

  override attribute(name: string): Value | undefined {
    const index = this.#index0
    switch (name) {
      case "index0":
        return BigInt(index)
      case "index":
        return BigInt(index + 1)
      case "revindex0":
        return BigInt(this.length - index - 1)
      case "revindex":
        return BigInt(this.length - index)
      case "first":
        return index === 0
      case "last":
        return this.#peek() === undefined
      case "length":
        return BigInt(this.length)
      case "depth":
        return BigInt(this.#depth0 + 1)
      case "depth0":
        return BigInt(this.#depth0)
      case "previtem":
        return orUndefined(this.#before, "there is no previous item")
      case "nextitem":
        return orUndefined(this.#peek(), "there is no next item")
      case "cycle":
        return new Callable("cycle", (args) => {
          const values = args.positionalOnly("cycle", 0, Number.POSITIVE_INFINITY)
          if (values.length === 0) throw typeError("no items for cycling given")
          return values[this.#index0 % values.length] ?? null
        })
      case "changed":
        return new Callable("changed", (args, runtime) => {
          const value = new Tuple(args.positionalOnly("changed", 0, Number.POSITIVE_INFINITY))
          if (this.#changed !== undefined && equals(this.#changed, value, runtime)) return false
          this.#changed = value
          return true
        })
      default:
        return undefined
    }
  }
}

function orUndefined(value: Value | undefined, hint: string): Value {
  return value === undefined ? new Undefined(hint) : value
}
