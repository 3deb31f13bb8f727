// `x.name`, `x[key]` and slices, as Jinja's immutable sandbox looks them up.
import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError, valueError } from "./errors.ts"
import {
  dictMethods,
  listMethods,
  numberAttributes,
  tupleMethods,
  unsafeDictMethods,
  unsafeListMethods,
} from "./methods.ts"
import { iterable, iterate } from "./iterate.ts"
import { stripTags, unescapeMarkup } from "./markup.ts"
import { escaped } from "./markup-text.ts"
import { strFormat, type FieldAccess } from "./str-format.ts"
import { textMethods } from "./str-methods.ts"
import { codePoints } from "./text.ts"
import {
  Arguments,
  asInteger,
  asText,
  Callable,
  Dict,
  Markup,
  PythonObject,
  Range,
  Tuple,
  typeName,
  Undefined,
  type Value,
} from "./value.ts"

/** `value.name`: the attribute if there is one, then the element of that key. */
export function getAttribute(value: Value, name: string, runtime: Runtime): Value {
  const attribute = ownAttribute(value, name, runtime)
  if (attribute !== undefined) return attribute
  if (value instanceof Undefined) throw value.fail()
  if (value instanceof Dict) {
    const item = value.get(name)
    if (item !== undefined) return item
  }
  return noAttribute(value, name)
}

function noAttribute(value: Value, name: string): Undefined {
  return new Undefined(`'${typeName(value)} object' has no attribute '${name}'`)
}

/** `value[key]`: the element, then (for text keys) the attribute. */
export function getItem(value: Value, key: Value, runtime: Runtime): Value {
  if (value instanceof Undefined) throw value.fail()
  const item = element(value, key)
  if (item !== undefined) return item
  if (typeof key === "string") {
    const attribute = ownAttribute(value, key, runtime)
    if (attribute !== undefined) return attribute
    return noAttribute(value, key)
  }
  return new Undefined(`${typeName(value)} object has no such element`)
}

/**
 * `value.name` and `value["name"]` of a name that is known when a template is compiled. Nearly all of them are fields of
 * messages, which are found at once.
 */
export function attributeReader(name: string): (value: Value, runtime: Runtime) => Value {
  return reader(name, getAttribute)
}

export function itemReader(name: string): (value: Value, runtime: Runtime) => Value {
  return reader(name, getItem)
}

function reader(
  name: string,
  read: (value: Value, name: string, runtime: Runtime) => Value,
): (value: Value, runtime: Runtime) => Value {
  if (methodOf(noFields, name) !== undefined) return (value, runtime) => read(value, name, runtime)
  const absent = noAttribute(noFields, name)
  return (value, runtime) => {
    if (!(value instanceof Dict)) return read(value, name, runtime)
    const field = value.get(name)
    return field === undefined ? absent : field
  }
}

const noFields = new Dict()

/** str.format's fields go by Python's own rules: a missing part raises. */
const formatAccess: FieldAccess = {
  attribute(value, name, runtime) {
    const found = value instanceof Dict ? methodOf(value, name) : getAttribute(value, name, runtime)
    if (found === undefined) throw new TemplateFailure("KeyError", `'${typeName(value)}' has no attribute '${name}'`)
    if (found instanceof Undefined) throw found.fail()
    return found
  },
  element(value, key) {
    const found = element(value, key)
    if (found === undefined) throw new TemplateFailure("KeyError", `'${typeName(value)}' has no such element`)
    return found
  },
}

function textMethod(
  text: string,
  name: string,
  html: boolean,
): ((args: Arguments, runtime: Runtime) => Value) | undefined {
  if (name === "format") return (args, runtime) => strFormat(text, args, undefined, formatAccess, runtime, html)
  if (name === "format_map")
    return (args, runtime) => {
      const [mapping = null] = args.positionalOnly("format_map", 1, 1)
      if (!(mapping instanceof Dict)) throw typeError("format_map() takes a mapping")
      return strFormat(text, new Arguments([]), (key) => mapping.get(key), formatAccess, runtime, html)
    }
  const method = textMethods.get(name)
  return method === undefined ? undefined : (args, runtime) => method(text, args, runtime)
}

function ownAttribute(value: Value, name: string, runtime: Runtime): Value | undefined {
  const method = methodOf(value, name)
  if (method !== undefined) return method
  return value instanceof PythonObject ? value.attribute(name, runtime) : undefined
}

function methodOf(value: Value, name: string): Value | undefined {
  if (value instanceof Undefined) return alwaysDunder.has(name) ? unsafe(name) : undefined
  if (name.startsWith("__") && name.endsWith("__") && name.length > 4) {
    // Python has them on every object; the sandbox hands out none.
    return alwaysDunder.has(name) ? unsafe(name) : undefined
  }
  const text = asText(value)
  if (text !== undefined) {
    return value instanceof Markup ? markupMethod(value, name) : callableOf(name, textMethod(text, name, false))
  }
  if (Array.isArray(value)) {
    if (unsafeListMethods.has(name)) return unsafe(name)
    const method = listMethods.get(name)
    return method === undefined ? undefined : new Callable(name, (args, runtime) => method(value, args, runtime))
  }
  if (value instanceof Dict) {
    if (unsafeDictMethods.has(name)) return unsafe(name)
    const method = dictMethods.get(name)
    return method === undefined ? undefined : new Callable(name, (args, runtime) => method(value, args, runtime))
  }
  if (value instanceof Tuple) {
    const method = tupleMethods.get(name)
    return method === undefined ? undefined : new Callable(name, (args, runtime) => method(value.items, args, runtime))
  }
  if (value instanceof Range && (name === "start" || name === "stop" || name === "step")) return value[name]
  if (typeof value === "number" || asInteger(value) !== undefined) return numberAttributes(value, name)
  return undefined
}

function callableOf(
  name: string,
  method: ((args: Arguments, runtime: Runtime) => Value) | undefined,
): Value | undefined {
  return method === undefined ? undefined : new Callable(name, method)
}

/** HTML text's own methods escape the texts that they put in. */
function markupMethod(self: Markup, name: string): Value | undefined {
  const own = markupMethods.get(name)
  if (own !== undefined) return new Callable(name, (args) => own(self, args))
  const method = textMethod(self.text, name, true)
  if (method === undefined) return undefined
  return new Callable(name, (args, runtime) => {
    const at = escapedArgument.get(name)
    const given = at === undefined ? args : escapeArguments(args, at, runtime)
    return toMarkup(method(given, runtime))
  })
}

/** Of methods that put text in: which argument that is, "all" for elements of the first. */
const escapedArgument = new Map<string, number | "elements">([
  ["join", "elements"],
  ["replace", 1],
  ["ljust", 1],
  ["rjust", 1],
  ["center", 1],
])

function escapeArguments(args: Arguments, at: number | "elements", runtime: Runtime): Arguments {
  const escape = (value: Value): Value => escaped(value, runtime)
  const positional =
    at === "elements"
      ? args.positional.map((value) => (iterable(value) === undefined ? value : [...iterate(value)].map(escape)))
      : args.positional.map((value, index) => (index === at ? escape(value) : value))
  return new Arguments(positional, args.named)
}

const markupMethods = new Map<string, (self: Markup, args: Arguments) => Value>([
  [
    "unescape",
    (self, args) => {
      args.positionalOnly("unescape", 0, 0)
      return unescapeMarkup(self.text)
    },
  ],
  [
    "striptags",
    (self, args) => {
      args.positionalOnly("striptags", 0, 0)
      return stripTags(self.text)
    },
  ],
])

/** What methods of HTML text give is HTML text too. */
function toMarkup(result: Value): Value {
  if (typeof result === "string") return new Markup(result)
  if (Array.isArray(result)) return result.map(toMarkup)
  return result instanceof Tuple ? new Tuple(result.items.map(toMarkup)) : result
}

const alwaysDunder = new Set(
  "class doc dir eq ne lt le gt ge format getattribute hash init init_subclass new reduce reduce_ex repr setattr sizeof str subclasshook delattr"
    .split(" ")
    .map((name) => `__${name}__`),
)

function unsafe(name: string): Undefined {
  return new Undefined(`access to attribute '${name}' is unsafe`, "SecurityError")
}

/** The element, or undefined where Python raises TypeError, KeyError or IndexError. */
function element(value: Value, key: Value): Value | undefined {
  if (value instanceof Dict) return isHashable(key) ? value.get(key) : undefined
  const index = asInteger(key)
  if (index === undefined) return undefined
  if (Array.isArray(value)) return at(value, index)
  if (value instanceof Tuple) return at(value.items, index)
  const text = asText(value)
  if (text !== undefined) {
    const character = at(codePoints(text), index)
    return character !== undefined && value instanceof Markup ? new Markup(character) : character
  }
  if (value instanceof Range) {
    const length = value.length
    const found = index < 0n ? index + length : index
    return found < 0n || found >= length ? undefined : value.start + found * value.step
  }
  return undefined
}

function isHashable(key: Value): boolean {
  if (key instanceof Tuple) return key.items.every(isHashable)
  return !Array.isArray(key) && !(key instanceof Dict)
}

function at<T>(items: { readonly length: number; readonly [index: number]: T }, index: bigint): T | undefined {
  const found = index < 0n ? index + BigInt(items.length) : index
  return found < 0n || found >= BigInt(items.length) ? undefined : items[Number(found)]
}

/** `value[start:stop:step]`; null stands for a part left out. Slices are Python's own, so they raise. */
export function getSlice(value: Value, start: Value, stop: Value, step: Value, runtime: Runtime): Value {
  if (value instanceof Undefined) throw value.fail()
  const text = asText(value)
  const items =
    text !== undefined
      ? codePoints(text)
      : Array.isArray(value)
        ? value
        : value instanceof Tuple
          ? value.items
          : undefined
  const indices = sliceBounds(start, stop, step)
  if (items === undefined && value instanceof Range) return sliceRange(value, indices)
  if (items === undefined) throw typeError(`'${typeName(value)}' object is not subscriptable by a slice`)
  const [first, last, by] = clamp(items.length, indices)
  if (typeof items === "string" && by === 1) {
    const part = items.slice(first, Math.max(first, last))
    return value instanceof Markup ? new Markup(part) : part
  }
  const picked: Value[] = []
  let joined = ""
  for (let i = first; by > 0 ? i < last : i > last; i += by) {
    const item = items[i] ?? null
    if (typeof item === "string" && text !== undefined) joined += item
    else picked.push(item)
  }
  runtime.budget.list(picked.length)
  if (text !== undefined) return value instanceof Markup ? new Markup(joined) : joined
  return Array.isArray(value) ? picked : new Tuple(picked)
}

interface SliceBounds {
  start: bigint | undefined
  stop: bigint | undefined
  step: bigint
}

function sliceBounds(start: Value, stop: Value, step: Value): SliceBounds {
  for (const part of [start, stop, step])
    if (part !== null && asInteger(part) === undefined)
      throw typeError("slice indices must be integers or None or have an __index__ method")
  const by = step === null ? 1n : (asInteger(step) ?? 1n)
  if (by === 0n) throw valueError("slice step cannot be zero")
  return { start: asInteger(start), stop: asInteger(stop), step: by }
}

function clamp(length: number, { start, stop, step }: SliceBounds): [first: number, last: number, by: number] {
  const size = BigInt(length)
  const limit = (value: bigint | undefined, absent: bigint): number => {
    if (value === undefined) return Number(absent)
    const from = value < 0n ? value + size : value
    const [low, high] = step > 0n ? [0n, size] : [-1n, size - 1n]
    return Number(from < low ? low : from > high ? high : from)
  }
  const by = step > size + 1n ? length + 1 : step < -size - 1n ? -length - 1 : Number(step)
  return step > 0n ? [limit(start, 0n), limit(stop, size), by] : [limit(start, size - 1n), limit(stop, -1n), by]
}

function sliceRange(range: Range, bounds: SliceBounds): Value {
  const [first, last, by] = clamp(Number(range.length), bounds)
  return new Range(
    range.start + BigInt(first) * range.step,
    range.start + BigInt(last) * range.step,
    range.step * BigInt(by),
  )
}

/** The value as a callable; fails for one that is none. */
export function toCallable(value: Value): Callable {
  if (value instanceof Callable) return value
  if (value instanceof Undefined) throw value.fail()
  throw typeError(`'${typeName(value)}' object is not callable`)
}
