// Functions that every template can call.
import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError, valueError } from "../values/errors.ts"
import { iterate } from "../values/iterate.ts"
import { dictMethods } from "../values/methods.ts"
import {
  asInteger,
  asText,
  Callable,
  Dict,
  Namespace,
  PythonObject,
  Range,
  typeName,
  type Arguments,
  type Value,
} from "../values/value.ts"
import { strftime } from "./strftime.ts"

/** The sandbox's bound on range(). */
const longestRange = 100_000n

function global(name: string, call: (args: Arguments, runtime: Runtime) => Value): [string, Value] {
  return [name, new Callable(name, call, "function")]
}

function makeRange(args: Arguments): Range {
  const bounds = args.positionalOnly("range", 1, 3).map((value) => {
    const integer = asInteger(value)
    if (integer === undefined) throw typeError(`'${typeName(value)}' object cannot be interpreted as an integer`)
    return integer
  })
  const [first = 0n, second, step = 1n] = bounds
  if (step === 0n) throw valueError("range() arg 3 must not be zero")
  const range = second === undefined ? new Range(0n, first, 1n) : new Range(first, second, step)
  if (range.length > longestRange)
    throw new TemplateFailure("OverflowError", `Range too big. The sandbox blocks ranges larger than ${longestRange}.`)
  return range
}

/** dict(), from a mapping or pairs, and named values. */
export function makeDict(callee: string, args: Arguments): Dict {
  if (args.positional.length > 1)
    throw typeError(`${callee} expected at most 1 argument, got ${args.positional.length}`)
  const dict = new Dict()
  const [source] = args.positional
  if (source instanceof Dict) for (const [key, value] of source.entries()) dict.set(key, value)
  else if (source !== undefined)
    for (const pair of iterate(source)) {
      const [key, value, ...more] = [...iterate(pair)]
      if (key === undefined || value === undefined || more.length > 0)
        throw valueError("dictionary update sequence element has a length other than 2")
      dict.set(key, value)
    }
  for (const [key, value] of args.named) dict.set(key, value)
  return dict
}

/** `dict` itself, which has one method of use. */
class DictType extends Callable {
  constructor() {
    super("dict", (args) => makeDict("dict", args), "type")
  }

  override attribute(name: string): Value | undefined {
    const method = name === "fromkeys" ? dictMethods.get(name) : undefined
    return method === undefined ? undefined : new Callable(name, (args, runtime) => method(new Dict(), args, runtime))
  }
}

class Cycler extends PythonObject {
  readonly typeName = "Cycler"
  readonly #items: readonly Value[]
  #position = 0

  constructor(items: readonly Value[]) {
    super()
    this.#items = items
  }

  override attribute(name: string): Value | undefined {
    const current = this.#items[this.#position] ?? null
    switch (name) {
      case "current":
        return current
      case "next":
        return new Callable("next", (args) => {
          args.positionalOnly("next", 0, 0)
          const item = this.#items[this.#position] ?? null
          this.#position = (this.#position + 1) % this.#items.length
          return item
        })
      case "reset":
        return new Callable("reset", (args) => {
          args.positionalOnly("reset", 0, 0)
          this.#position = 0
          return null
        })
      case "pos":
        return BigInt(this.#position)
      default:
        return undefined
    }
  }
}

export const templateGlobals: ReadonlyMap<string, Value> = new Map<string, Value>([
  global("range", makeRange),
  ["dict", new DictType()],
  global("namespace", (args) => new Namespace(makeDict("namespace", args))),
  global("cycler", (args) => {
    if (args.named.size > 0 || args.positional.length === 0)
      throw new TemplateFailure("TemplateError", "at least one item has to be provided")
    return new Cycler(args.positional)
  }),
  global("joiner", (args) => {
    const [separator = ", "] = args.bind("joiner", ["sep"])
    let used = false
    return new Callable("joiner", () => {
      const result = used ? separator : ""
      used = true
      return result
    })
  }),
  global("lipsum", () => {
    throw new TemplateFailure("NotSupported", "lipsum() is random, and a prompt has to be the same each time")
  }),
  global("raise_exception", (args) => {
    const [message = null] = args.bind("raise_exception", ["message"], 1)
    throw new TemplateFailure("TemplateError", asText(message) ?? "the template raised an exception")
  }),
  global("strftime_now", (args, runtime) => {
    const [format] = args.bind("strftime_now", ["format"], 1)
    const text = asText(format)
    if (text === undefined) throw typeError("strftime() argument must be a str")
    return strftime(text, runtime.now())
  }),
])
