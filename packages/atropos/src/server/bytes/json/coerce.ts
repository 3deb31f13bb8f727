import { readString, readText } from "./json-walk.ts"
import { maxIntegerDigits } from "./json-check.ts"
import type { ProblemType } from "./problems.ts"

/** A scalar taken: its JSON text as it leaves. Or why not. */
export type Coerced = { ok: true; text: string } | { ok: false; type: ProblemType; msg: string }

const intWords = {
  int_type: "Input should be a valid integer",
  int_parsing: "Input should be a valid integer, unable to parse string as an integer",
  int_from_float: "Input should be a valid integer, got a number with a fractional part",
  int_parsing_size: "Unable to parse input string as an integer, exceeded maximum size",
} as const

const floatWords = {
  float_type: "Input should be a valid number",
  float_parsing: "Input should be a valid number, unable to parse string as a number",
} as const

export const finiteNumber = {
  ok: false,
  type: "finite_number",
  msg: "Input should be a finite number; NaN, infinities and numbers beyond a double have no place in JSON: leave the value out or send null where that is allowed",
} as const

export const unpairedSurrogate = {
  ok: false,
  type: "string_unicode",
  msg: "Input should be valid Unicode text, got half of a surrogate pair; replace or remove it before sending",
} as const

const int = (type: keyof typeof intWords): Coerced => ({ ok: false, type, msg: intWords[type] })
const float = (type: keyof typeof floatWords): Coerced => ({ ok: false, type, msg: floatWords[type] })

// What the reference strips from a string that spells a number: Unicode's White_Space.
const leadingSpace = /^[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u
const trailingSpace = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+$/u
const trim = (text: string): string => text.replace(leadingSpace, "").replace(trailingSpace, "")

/** The integer that the value from `start` to `end` is or spells, exact at any size. */
export function coerceInteger(bytes: Uint8Array, start: number, end: number): Coerced {
  const first = bytes[start]
  if (first === 0x22) {
    const text = readString(bytes, start, end)
    return text.isWellFormed() ? integerFromString(text) : unpairedSurrogate
  }
  if (first === 0x74) return { ok: true, text: "1" }
  if (first === 0x66) return { ok: true, text: "0" }
  if (first === 0x6e || first === 0x5b || first === 0x7b) return int("int_type")
  const text = readText(bytes, start, end)
  if (/^-?\d+$/.test(text)) return { ok: true, text: text === "-0" ? "0" : text }
  const value = Number(text)
  if (!Number.isFinite(value)) return finiteNumber
  if (!Number.isInteger(value)) return int("int_from_float")
  if (Math.abs(value) >= 2 ** 63) return int("int_parsing_size")
  return { ok: true, text: BigInt(value).toString() }
}

function integerFromString(text: string): Coerced {
  const trimmed = trim(text)
  const match = /^([+-]?)(\d+(?:_\d+)*)(?:\.0+)?$/.exec(trimmed)
  if (trimmed.length > maxIntegerDigits) return int("int_parsing_size")
  if (match === null) return int("int_parsing")
  const digits = (match[2] ?? "").replaceAll("_", "").replace(/^0+(?=\d)/, "")
  return { ok: true, text: match[1] === "-" && digits !== "0" ? `-${digits}` : digits }
}

/** The number that the value from `start` to `end` is or spells, written as a float. A float keeps its spelling. */
export function coerceFloat(bytes: Uint8Array, start: number, end: number): Coerced {
  const first = bytes[start]
  if (first === 0x22) {
    const text = readString(bytes, start, end)
    return text.isWellFormed() ? floatFromString(text) : unpairedSurrogate
  }
  if (first === 0x74) return { ok: true, text: "1.0" }
  if (first === 0x66) return { ok: true, text: "0.0" }
  if (first === 0x6e || first === 0x5b || first === 0x7b) return float("float_type")
  const text = readText(bytes, start, end)
  if (!Number.isFinite(Number(text))) return finiteNumber
  if (!/^-?\d+$/.test(text)) return { ok: true, text }
  return { ok: true, text: text === "-0" ? "0.0" : `${text}.0` }
}

function floatFromString(text: string): Coerced {
  const trimmed = trim(text)
  if (/^[+-]?(?:nan|inf|infinity)$/i.test(trimmed)) return finiteNumber
  if (/^_|_$|__/.test(trimmed)) return float("float_parsing")
  const spelled = trimmed.replaceAll("_", "")
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(spelled)) return float("float_parsing")
  const value = Number(spelled)
  return Number.isFinite(value) ? { ok: true, text: formatFloat(value) } : finiteNumber
}

/** A double as JSON that reads back as a float: with a fraction or an exponent. */
export function formatFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0"
  const text = String(value)
  return /[.e]/.test(text) ? text : `${text}.0`
}
