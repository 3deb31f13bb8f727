import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError, type FailureKind } from "./errors.ts"

/** A Python value: None, bool, int, float, str, list, or one of the classes below. */
export type Value = null | boolean | bigint | number | string | Value[] | PythonObject

/** Everything that JavaScript has no own kind of value for. `typeName` is what Python calls the type. */
export abstract class PythonObject {
  abstract readonly typeName: string
  /** An attribute's value, or undefined where Python raises AttributeError. */
  attribute(_name: string, _runtime: Runtime): Value | undefined {
    return undefined
  }
}

export class Tuple extends PythonObject {
  readonly typeName: string = "tuple"
  readonly items: readonly Value[]
  constructor(items: readonly Value[]) {
    super()
    this.items = items
  }
}

/** What a missing variable or key gives: prints nothing, is false and empty, and fails on nearly all else. */
export class Undefined extends PythonObject {
  readonly typeName = "Undefined"
  readonly hint: string
  readonly kind: FailureKind
  constructor(hint: string, kind: FailureKind = "UndefinedError") {
    super()
    this.hint = hint
    this.kind = kind
  }
  fail(): TemplateFailure {
    return new TemplateFailure(this.kind, this.hint)
  }
}

/** Text that counts as HTML already: what is added to it is escaped. */
export class Markup extends PythonObject {
  readonly typeName = "Markup"
  readonly text: string
  constructor(text: string) {
    super()
    this.text = text
  }
}

type Key = string | number | bigint | null | PythonObject | typeof undefinedKey
const undefinedKey = Symbol("undefined")

/** A dict: insertion-ordered, any hashable key, 1 and 1.0 and True the same key. */
export class Dict extends PythonObject {
  readonly typeName = "dict"
  readonly #values = new Map<Key, Value>()
  /** Keys as they were first written, where that differs from the form they are looked up by. */
  #written: Map<Key, Value> | undefined

  static of(entries: Iterable<readonly [Value, Value]>): Dict {
    const dict = new Dict()
    for (const [key, value] of entries) dict.set(key, value)
    return dict
  }

  get size(): number {
    return this.#values.size
  }

  get(key: Value): Value | undefined {
    return this.#values.get(typeof key === "string" ? key : hashable(key))
  }

  has(key: Value): boolean {
    return this.#values.has(hashable(key))
  }

  set(key: Value, value: Value): void {
    const found = hashable(key)
    if (found !== key && !this.#values.has(found)) {
      this.#written ??= new Map()
      this.#written.set(found, key)
    }
    this.#values.set(found, value)
  }

  *keys(): IterableIterator<Value> {
    for (const [key] of this.entries()) yield key
  }

  values(): IterableIterator<Value> {
    return this.#values.values()
  }

  *entries(): IterableIterator<[Value, Value]> {
    for (const [key, value] of this.#values) yield [this.#writtenKey(key), value]
  }

  #writtenKey(key: Key): Value {
    const written = this.#written?.get(key)
    if (written !== undefined) return written
    // Only a key that was written down can be a symbol.
    return typeof key === "symbol" ? null : key
  }
}

/** A form of `value` that a Map finds equal values by. */
export function hashable(value: Value): Key {
  if (typeof value === "string" || typeof value === "bigint" || value === null) return value
  if (typeof value === "boolean") return value ? 1n : 0n
  if (typeof value === "number") return Number.isInteger(value) ? BigInt(value) : value
  if (value instanceof Undefined) return undefinedKey
  if (value instanceof Markup) return value.text
  if (value instanceof Tuple) return `\u0000tuple ${value.items.map(tupleKey).join(" ")}`
  if (Array.isArray(value) || value instanceof Dict)
    throw typeError(`unhashable type: '${Array.isArray(value) ? "list" : "dict"}'`)
  return value
}

function tupleKey(item: Value): string {
  const key = hashable(item)
  if (typeof key === "string") return JSON.stringify(key)
  if (key instanceof PythonObject) throw typeError(`a ${key.typeName} inside a tuple cannot be a key`)
  return `${typeof key}:${String(key)}`
}

export type ViewKind = "dict_keys" | "dict_values" | "dict_items"

/** dict.keys(), .values() or .items(). */
export class DictView extends PythonObject {
  readonly typeName: ViewKind
  readonly dict: Dict
  constructor(kind: ViewKind, dict: Dict) {
    super()
    this.typeName = kind
    this.dict = dict
  }
  *items(): IterableIterator<Value> {
    if (this.typeName === "dict_values") yield* this.dict.values()
    else if (this.typeName === "dict_keys") yield* this.dict.keys()
    else for (const entry of this.dict.entries()) yield new Tuple(entry)
  }
}

export class Range extends PythonObject {
  readonly typeName = "range"
  readonly start: bigint
  readonly stop: bigint
  readonly step: bigint
  constructor(start: bigint, stop: bigint, step: bigint) {
    super()
    this.start = start
    this.stop = stop
    this.step = step
  }
  get length(): bigint {
    const span = this.step > 0n ? this.stop - this.start : this.start - this.stop
    const size = this.step > 0n ? this.step : -this.step
    return span <= 0n ? 0n : (span + size - 1n) / size
  }
  *items(): IterableIterator<bigint> {
    for (let i = 0n; i < this.length; i += 1n) yield this.start + i * this.step
  }
}

/** A generator or iterator: read once, no length, no index. */
export class PythonIterator extends PythonObject {
  readonly typeName: string
  readonly source: Iterator<Value>
  constructor(source: Iterator<Value>, typeName = "generator") {
    super()
    this.source = source
    this.typeName = typeName
  }
  *items(): IterableIterator<Value> {
    for (let next = this.source.next(); next.done !== true; next = this.source.next()) yield next.value
  }
}

export class Namespace extends PythonObject {
  readonly typeName = "Namespace"
  readonly values: Dict
  constructor(values: Dict) {
    super()
    this.values = values
  }
  override attribute(name: string): Value | undefined {
    return this.values.get(name)
  }
}

/** Positional and named arguments of a call. */
export class Arguments {
  readonly positional: readonly Value[]
  readonly named: ReadonlyMap<string, Value>
  constructor(positional: readonly Value[], named: ReadonlyMap<string, Value> = noNames) {
    this.positional = positional
    this.named = named
  }

  /** The arguments by parameter name; an array slot is undefined where nothing was given. */
  bind<const Names extends readonly string[]>(
    callee: string,
    names: Names,
    required = 0,
  ): { [I in keyof Names]: Value | undefined } {
    if (this.positional.length > names.length)
      throw typeError(`${callee}() takes at most ${names.length} arguments (${this.positional.length} given)`)
    const bound: (Value | undefined)[] = names.map((_, index) => this.positional[index])
    for (const [name, value] of this.named) {
      const index = names.indexOf(name)
      if (index < 0) throw typeError(`${callee}() got an unexpected keyword argument '${name}'`)
      if (bound[index] !== undefined) throw typeError(`${callee}() got multiple values for argument '${name}'`)
      bound[index] = value
    }
    for (let i = 0; i < required; i += 1)
      if (bound[i] === undefined) throw typeError(`${callee}() is missing its argument '${names[i] ?? ""}'`)
    // `names.map` above made exactly one slot a name.
    return bound as { [I in keyof Names]: Value | undefined }
  }

  /** For Python's positional-only functions. */
  positionalOnly(callee: string, least: number, most: number): readonly Value[] {
    if (this.named.size > 0) throw typeError(`${callee}() takes no keyword arguments`)
    if (this.positional.length < least || this.positional.length > most)
      throw typeError(`${callee}() got ${this.positional.length} arguments, which is not what it takes`)
    return this.positional
  }
}

const noNames: ReadonlyMap<string, Value> = new Map()

/** Anything that can be called: methods, globals, macros. */
export class Callable extends PythonObject {
  readonly typeName: string
  readonly name: string
  readonly call: (args: Arguments, runtime: Runtime) => Value
  constructor(
    name: string,
    call: (args: Arguments, runtime: Runtime) => Value,
    typeName = "builtin_function_or_method",
  ) {
    super()
    this.name = name
    this.call = call
    this.typeName = typeName
  }
}

export function typeName(value: Value): string {
  if (value === null) return "NoneType"
  if (Array.isArray(value)) return "list"
  if (value instanceof PythonObject) return value.typeName
  if (typeof value === "boolean") return "bool"
  if (typeof value === "bigint") return "int"
  return typeof value === "number" ? "float" : "str"
}

/** The text of a str (or Markup), or undefined for any other value. */
export function asText(value: Value | undefined): string | undefined {
  if (typeof value === "string") return value
  return value instanceof Markup ? value.text : undefined
}

/** The int that a value is, bool being one; undefined for others. */
export function asInteger(value: Value | undefined): bigint | undefined {
  if (typeof value === "bigint") return value
  return typeof value === "boolean" ? (value ? 1n : 0n) : undefined
}
