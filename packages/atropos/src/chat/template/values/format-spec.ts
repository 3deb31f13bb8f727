// Python's format(value, spec) and the float spellings that % formatting shares with it.
import type { Runtime } from "../runtime.ts"
import { typeError, valueError } from "./errors.ts"
import { fixedDigits, floatRepr, scientificDigits } from "./numbers.ts"
import { toText } from "./show.ts"
import { textLength, unitOffset } from "./text.ts"
import { asInteger, asText, typeName, type Value } from "./value.ts"

export interface FormatSpec {
  fill: string
  align: "<" | ">" | "^" | "=" | ""
  sign: "+" | "-" | " "
  alternate: boolean
  width: number
  grouping: "" | "," | "_"
  precision: number | undefined
  type: string
}

const specPattern = /^(?:(.)?([<>=^]))?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/su

export function parseFormatSpec(spec: string, runtime: Runtime): FormatSpec {
  const match = specPattern.exec(spec)
  if (match === null) throw valueError("Invalid format specifier")
  const [, fill, align, sign, , alternate, zero, width = "0", grouping = "", precision, type = ""] = match
  runtime.budget.text(Number(width) + Number(precision ?? 0))
  return {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: (align ?? (zero === undefined ? "" : "=")) as FormatSpec["align"],
    sign: (sign ?? "-") as FormatSpec["sign"],
    alternate: alternate !== undefined,
    width: Number(width),
    grouping: grouping as FormatSpec["grouping"],
    precision: precision === undefined ? undefined : Number(precision),
    type,
  }
}

export function formatValue(value: Value, specText: string, runtime: Runtime): string {
  if (specText === "") return toText(value, runtime)
  const text = asText(value)
  if (text === undefined && asInteger(value) === undefined && typeof value !== "number")
    throw typeError(`unsupported format string passed to ${typeName(value)}.__format__`)
  const spec = parseFormatSpec(specText, runtime)
  if (text !== undefined) return formatText(text, spec)
  const integer = asInteger(value)
  if (integer === undefined) return formatFloat(value as number, spec)
  // bool without a type is formatted as its number; Python does the same.
  return /^[eEfFgG%]$/.test(spec.type) ? formatFloat(Number(integer), spec) : formatInteger(integer, spec)
}

function formatText(text: string, spec: FormatSpec): string {
  if (spec.type !== "" && spec.type !== "s")
    throw valueError(`Unknown format code '${spec.type}' for object of type 'str'`)
  if (spec.grouping !== "") throw valueError(`Cannot specify '${spec.grouping}' with 's'.`)
  if (spec.align === "=") throw valueError("'=' alignment not allowed in string format specifier")
  const cut =
    spec.precision !== undefined && spec.precision < textLength(text)
      ? text.slice(0, unitOffset(text, spec.precision))
      : text
  return pad(cut, spec, "<")
}

function formatInteger(value: bigint, spec: FormatSpec): string {
  if (spec.precision !== undefined) throw valueError("Precision not allowed in integer format specifier")
  const magnitude = value < 0n ? -value : value
  const negative = value < 0n
  switch (spec.type) {
    case "":
    case "d":
    case "n":
      return number(negative, "", group(magnitude.toString(), spec, 3), "", spec)
    case "b":
    case "o":
    case "x":
    case "X": {
      const base = { b: 2, o: 8, x: 16, X: 16 }[spec.type]
      const digits = magnitude.toString(base)
      const body = spec.type === "X" ? digits.toUpperCase() : digits
      return number(negative, spec.alternate ? `0${spec.type}` : "", group(body, spec, 4), "", spec)
    }
    case "c":
      return pad(String.fromCodePoint(Number(value)), spec, "<")
    default:
      throw valueError(`Unknown format code '${spec.type}' for object of type 'int'`)
  }
}

function formatFloat(value: number, spec: FormatSpec): string {
  const percent = spec.type === "%"
  const { negative, digits } = floatDigits(
    percent ? value * 100 : value,
    percent ? "f" : spec.type,
    spec.precision,
    spec.alternate,
  )
  const [whole = "", ...rest] = digits.split(/(?=[.e])/i)
  return number(negative, "", group(whole, spec, 3), rest.join("") + (percent ? "%" : ""), spec)
}

/** Sign and digits of a float for the codes e, f, g (and their capitals), or "" for str-like output. */
export function floatDigits(
  value: number,
  type: string,
  precision: number | undefined,
  alternate: boolean,
): { negative: boolean; digits: string } {
  const negative = value < 0 || Object.is(value, -0)
  const upper = type !== "" && type === type.toUpperCase()
  const styled = (digits: string): string => (upper ? digits.toUpperCase() : digits)
  if (!Number.isFinite(value)) return { negative, digits: styled(Number.isNaN(value) ? "nan" : "inf") }
  const magnitude = Math.abs(value)
  switch (type.toLowerCase()) {
    case "f": {
      const digits = fixedDigits(magnitude, precision ?? 6)
      return { negative, digits: alternate && precision === 0 ? `${digits}.` : digits }
    }
    case "e": {
      const { digits, exponent } = scientificDigits(magnitude, precision ?? 6)
      return { negative, digits: styled(withExponent(digits, exponent, alternate)) }
    }
    case "g":
    case "n":
      return { negative, digits: styled(generalDigits(magnitude, precision ?? 6, alternate)) }
    case "":
      if (precision === undefined) return { negative, digits: floatRepr(magnitude) }
      return { negative, digits: strLikeDigits(magnitude, precision) }
    default:
      throw valueError(`Unknown format code '${type}' for object of type 'float'`)
  }
}

function withExponent(digits: string, exponent: number, alternate: boolean): string {
  const mantissa = digits.length > 1 || alternate ? `${digits.slice(0, 1)}.${digits.slice(1)}` : digits
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}

function generalDigits(value: number, precision: number, alternate: boolean): string {
  const significant = precision === 0 ? 1 : precision
  const { digits, exponent } = scientificDigits(value, significant - 1)
  const trimmed = alternate ? digits : digits.replace(/0+$/, "") || "0"
  if (exponent < -4 || exponent >= significant) return withExponent(trimmed, exponent, alternate)
  if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${trimmed}`
  const whole = trimmed.slice(0, exponent + 1).padEnd(exponent + 1, "0")
  const fraction = trimmed.slice(exponent + 1)
  return fraction === "" && !alternate ? whole : `${whole}.${fraction}`
}

/** Without a type, a precision means `g`, but with at least one digit after the point. */
function strLikeDigits(value: number, precision: number): string {
  const significant = precision === 0 ? 1 : precision
  const { digits, exponent } = scientificDigits(value, significant - 1)
  if (exponent < -4 || exponent >= significant) return withExponent(digits.replace(/0+$/, "") || "0", exponent, false)
  // One digit fewer before the exponent form is taken: 10.0 at precision 2 is 1e+01.
  if (exponent === significant - 1) return withExponent(digits.replace(/0+$/, "") || "0", exponent, false)
  const plain = generalDigits(value, precision, false)
  return plain.includes(".") ? plain : `${plain}.0`
}

function group(digits: string, spec: FormatSpec, size: number): string {
  if (spec.grouping === "" || !/^[0-9a-zA-Z]+$/.test(digits)) return digits
  const parts: string[] = []
  for (let end = digits.length; end > 0; end -= size) parts.unshift(digits.slice(Math.max(0, end - size), end))
  return parts.join(spec.grouping)
}

function number(negative: boolean, prefix: string, whole: string, rest: string, spec: FormatSpec): string {
  const sign = negative ? "-" : spec.sign === "-" ? "" : spec.sign
  if (spec.align !== "=") return pad(sign + prefix + whole + rest, spec, ">")
  const body = whole + rest
  const fill = spec.width - sign.length - prefix.length - body.length
  return sign + prefix + (fill > 0 ? spec.fill.repeat(fill) : "") + body
}

function pad(text: string, spec: FormatSpec, standard: "<" | ">"): string {
  const missing = spec.width - textLength(text)
  if (missing <= 0) return text
  const align = spec.align === "" ? standard : spec.align
  if (align === "<") return text + spec.fill.repeat(missing)
  if (align !== "^") return spec.fill.repeat(missing) + text
  return spec.fill.repeat(missing >> 1) + text + spec.fill.repeat(missing - (missing >> 1))
}
