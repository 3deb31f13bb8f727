import type { Runtime } from "../runtime.ts"
import { typeError } from "./errors.ts"
import { codePoints } from "./text.ts"
import { Dict, DictView, Markup, PythonIterator, Range, Tuple, typeName, Undefined, type Value } from "./value.ts"

/** iter(value); fails where Python's would. */
export function iterate(value: Value): Iterable<Value> {
  const elements = iterable(value)
  if (elements === undefined) throw typeError(`'${typeName(value)}' object is not iterable`)
  return elements
}

/** The elements of a value, or undefined for one that cannot be looped over. */
export function iterable(value: Value): Iterable<Value> | undefined {
  if (typeof value === "string") return value
  if (Array.isArray(value)) return value
  if (value instanceof Tuple) return value.items
  if (value instanceof Dict) return value.keys()
  if (value instanceof DictView || value instanceof Range || value instanceof PythonIterator) return value.items()
  if (value instanceof Markup) return value.text
  return value instanceof Undefined ? [] : undefined
}

/** list(value) */
export function toList(value: Value, runtime: Runtime): Value[] {
  const list: Value[] = []
  for (const item of iterate(value)) {
    list.push(item)
    if ((list.length & 0xff) === 0) runtime.budget.list(list.length)
  }
  runtime.budget.list(list.length)
  return list
}

/** len(value), or undefined where Python raises. */
export function lengthOf(value: Value): number | undefined {
  if (typeof value === "string") return codePoints(value).length
  if (Array.isArray(value)) return value.length
  if (value instanceof Tuple) return value.items.length
  if (value instanceof Dict) return value.size
  if (value instanceof DictView) return value.dict.size
  if (value instanceof Range) return Number(value.length)
  if (value instanceof Markup) return codePoints(value.text).length
  if (value instanceof Undefined) return 0
  if (value !== null && typeof value === "object" && "length" in value && typeof value.length === "number")
    return value.length
  return undefined
}

export function isTrue(value: Value): boolean {
  if (value === null || typeof value === "boolean") return value === true
  if (typeof value === "string") return value !== ""
  if (typeof value === "number") return value !== 0
  return typeof value === "bigint" ? value !== 0n : lengthOf(value) !== 0
}
