// str() and repr() of Python values.
import type { Runtime } from "../runtime.ts"
import { floatRepr } from "./numbers.ts"
import {
  Callable,
  Dict,
  DictView,
  Markup,
  Namespace,
  PythonIterator,
  type PythonObject,
  Range,
  Tuple,
  Undefined,
  type Value,
} from "./value.ts"

/** str(value), as `{{ value }}` prints it. */
export function toText(value: Value, runtime: Runtime): string {
  if (typeof value === "string") return value
  if (value instanceof Markup) return value.text
  if (value instanceof Undefined) return ""
  return toRepr(value, runtime)
}

export function toRepr(value: Value, runtime: Runtime): string {
  if (value === null) return "None"
  if (typeof value === "boolean") return value ? "True" : "False"
  if (typeof value === "bigint") return integerText(value, runtime)
  if (typeof value === "number") return floatRepr(value)
  if (typeof value !== "string") return runtime.budget.nested(() => objectRepr(value, runtime))
  runtime.budget.text(value.length)
  return textRepr(value)
}

function integerText(value: bigint, runtime: Runtime): string {
  const text = value.toString()
  runtime.budget.text(text.length)
  return text
}

function objectRepr(value: Value[] | PythonObject, runtime: Runtime): string {
  if (Array.isArray(value)) return `[${listRepr(value, runtime)}]`
  if (value instanceof Tuple)
    return value.items.length === 1 ? `(${listRepr(value.items, runtime)},)` : `(${listRepr(value.items, runtime)})`
  if (value instanceof Dict) return dictRepr(value, runtime)
  if (value instanceof DictView) return `${value.typeName}([${listRepr([...value.items()], runtime)}])`
  if (value instanceof Range) {
    const { start, stop, step } = value
    return step === 1n ? `range(${start}, ${stop})` : `range(${start}, ${stop}, ${step})`
  }
  if (value instanceof Undefined) return "Undefined"
  if (value instanceof Markup) return `Markup(${textRepr(value.text)})`
  if (value instanceof Namespace) return `<Namespace ${dictRepr(value.values, runtime)}>`
  if (value instanceof PythonIterator) return `<${value.typeName} object>`
  if (value instanceof Callable && value.typeName === "Macro") return `<Macro ${textRepr(value.name)}>`
  if (value instanceof Callable) return `<${value.typeName} ${value.name}>`
  return `<${value.typeName}>`
}

function listRepr(items: readonly Value[], runtime: Runtime): string {
  let text = ""
  for (const item of items) {
    runtime.budget.spend(1)
    text += (text === "" ? "" : ", ") + toRepr(item, runtime)
    runtime.budget.text(text.length)
  }
  return text
}

function dictRepr(dict: Dict, runtime: Runtime): string {
  let text = ""
  for (const [key, value] of dict.entries()) {
    runtime.budget.spend(1)
    text += `${text === "" ? "" : ", "}${toRepr(key, runtime)}: ${toRepr(value, runtime)}`
    runtime.budget.text(text.length)
  }
  return `{${text}}`
}

// What str.isprintable() is false of: control, format, private and unassigned characters, separators but the blank.
const unprintable = /[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u
const needsEscape = /[\\\n\r\t]|[^ -~]/

/** repr(str): single quotes unless only double ones avoid escapes. */
export function textRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  if (!needsEscape.test(text) && !text.includes(quote)) return quote + text + quote
  let result = quote
  for (const character of text) {
    if (character === quote || character === "\\") result += `\\${character}`
    else if (character === "\n") result += "\\n"
    else if (character === "\r") result += "\\r"
    else if (character === "\t") result += "\\t"
    else result += unprintable.test(character) ? escapeCode(character) : character
  }
  return result + quote
}

export function escapeCode(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`
  if (code < 0x10000) return `\\u${code.toString(16).padStart(4, "0")}`
  return `\\U${code.toString(16).padStart(8, "0")}`
}
