// str.format and str.format_map.
import type { Runtime } from "../runtime.ts"
import { TemplateFailure, valueError } from "./errors.ts"
import { formatValue } from "./format-spec.ts"
import { escapeMarkup } from "./markup.ts"
import { escapeCode, toRepr, toText } from "./show.ts"
import { Markup, type Arguments, type Value } from "./value.ts"

/** How a field's `.name` and `[key]` parts are looked up; both raise as Python's own do. */
export interface FieldAccess {
  attribute(value: Value, name: string, runtime: Runtime): Value
  element(value: Value, key: Value, runtime: Runtime): Value
}

export function strFormat(
  format: string,
  args: Arguments,
  mapping: ((name: string) => Value | undefined) | undefined,
  access: FieldAccess,
  runtime: Runtime,
  /** The format is HTML text: values are escaped, and HTML text among them takes no specification. */
  html = false,
): string {
  let automatic = 0
  let isManual = false
  const lookUp = (name: string, isWhole: boolean): Value => {
    if (name === "" || /^\d+$/.test(name)) {
      // Python counts only fields that are a number and nothing else.
      if (name === "" ? isManual : isWhole && automatic > 0)
        throw valueError("cannot switch between manual field specification and automatic field numbering")
      if (name !== "" && isWhole) isManual = true
      const index = name === "" ? automatic++ : Number(name)
      const value = args.positional[index]
      if (value === undefined)
        throw new TemplateFailure("IndexError", "Replacement index out of range for positional args tuple")
      return value
    }
    const value = mapping === undefined ? args.named.get(name) : mapping(name)
    if (value === undefined) throw new TemplateFailure("KeyError", "a field of the format string was not given")
    return value
  }
  return expand(format, { lookUp, access, runtime, html }, 2)
}

interface Fields {
  lookUp: (name: string, isWhole: boolean) => Value
  access: FieldAccess
  runtime: Runtime
  html: boolean
}

function expand(format: string, fields: Fields, depth: number): string {
  if (depth < 0) throw valueError("Max string recursion exceeded")
  let result = ""
  let position = 0
  while (position < format.length) {
    const character = format.charAt(position)
    if (character !== "{" && character !== "}") {
      const next = format.slice(position).search(/[{}]/)
      const end = next < 0 ? format.length : position + next
      result += format.slice(position, end)
      position = end
    } else if (format.charAt(position + 1) === character && (character === "}" || depth === 2)) {
      result += character
      position += 2
    } else if (character === "}") {
      throw valueError("Single '}' encountered in format string")
    } else {
      const end = fieldEnd(format, position)
      result += field(format.slice(position + 1, end), fields, depth)
      position = end + 1
    }
    fields.runtime.budget.text(result.length)
  }
  return result
}

function fieldEnd(format: string, start: number): number {
  let depth = 0
  for (let i = start; i < format.length; i += 1) {
    if (format.charAt(i) === "{") depth += 1
    else if (format.charAt(i) === "}") {
      depth -= 1
      if (depth === 0) return i
    }
  }
  throw valueError(
    start === format.length - 1 ? "Single '{' encountered in format string" : "expected '}' before end of string",
  )
}

function field(source: string, fields: Fields, depth: number): string {
  const { lookUp, access, runtime } = fields
  const match = /^([^!:[.]*)((?:\.[^.[!:]+|\[[^\]]*\])*)(?:!(.))?(?::(.*))?$/su.exec(source)
  if (match === null) throw valueError("invalid field in a format string")
  const [, name = "", path = "", conversion, spec = ""] = match
  let value = lookUp(name, path === "")
  for (const step of path.matchAll(/\.([^.[]+)|\[([^\]]*)\]/gsu)) {
    const [, attribute, key = ""] = step
    value =
      attribute === undefined
        ? access.element(value, /^\d+$/.test(key) ? BigInt(key) : key, runtime)
        : access.attribute(value, attribute, runtime)
  }
  if (conversion === "s") value = toText(value, runtime)
  else if (conversion === "r") value = toRepr(value, runtime)
  else if (conversion === "a") value = toRepr(value, runtime).replace(/\P{ASCII}/gu, escapeCode)
  else if (conversion !== undefined) throw valueError("Unknown conversion specifier")
  const specification = expand(spec, fields, depth - 1)
  if (!fields.html) return formatValue(value, specification, runtime)
  if (!(value instanceof Markup)) return escapeMarkup(formatValue(value, specification, runtime))
  if (specification !== "") throw valueError("Unsupported format specification for Markup.")
  return value.text
}
