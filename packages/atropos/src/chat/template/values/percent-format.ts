// Python's `text % values`.
import type { Runtime } from "../runtime.ts"
import { typeError, valueError } from "./errors.ts"
import { floatDigits } from "./format-spec.ts"
import { escapeMarkup } from "./markup.ts"
import { escaped } from "./markup-text.ts"
import { integerToFloat, parseFloatText, parseInteger, truncateFloat } from "./numbers.ts"
import { escapeCode, toRepr, toText } from "./show.ts"
import { textLength, unitOffset } from "./text.ts"
import { asInteger, asText, Dict, Range, Tuple, typeName, Undefined, type Value } from "./value.ts"

const directive = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+)?)?[hlL]?(.)?/gsu

/** With `html`, as HTML text does it: what comes in is escaped, and text counts as a number where one is wanted. */
export function percentFormat(format: string, values: Value, runtime: Runtime, html = false): string {
  const items = values instanceof Tuple ? values.items : [values]
  let next = 0
  let usedMapping = false
  const take = (): Value => {
    const item = items[next]
    if (item === undefined) throw typeError("not enough arguments for format string")
    next += 1
    return item
  }
  const size = (text: string | undefined): number | undefined => {
    if (text === undefined) return undefined
    if (text !== "*") return Number(text)
    const value = asInteger(take())
    if (value === undefined) throw typeError("* wants int")
    return Number(value)
  }

  const text = format.replace(directive, (match: string, ...groups: (string | undefined)[]) => {
    const [key, flagText = "", widthText, precisionText, code] = groups
    if (code === undefined) throw valueError("incomplete format")
    if (code === "%" && match === "%%") return "%"
    const flags = new Set(flagText)
    let width = size(widthText) ?? 0
    if (width < 0) {
      flags.add("-")
      width = -width
    }
    const precision =
      size(precisionText) ?? (match.includes(".", match.indexOf(")") + 1) && code !== "." ? 0 : undefined)
    runtime.budget.text(width + (precision ?? 0))
    if (code === "%") return "%"
    let value: Value
    if (key === undefined) value = take()
    else {
      if (!(values instanceof Dict)) throw typeError("format requires a mapping")
      usedMapping = true
      const found = values.get(key)
      if (found === undefined) throw typeError("the mapping lacks a key of the format string")
      value = found
    }
    return html
      ? convertInto(value, code, flags, width, precision, runtime)
      : convert(value, code, flags, width, precision, runtime)
  })
  // What can be looked into by key may be left unused.
  const mapping =
    values instanceof Dict || values instanceof Undefined || values instanceof Range || Array.isArray(values)
  if (!usedMapping && !mapping && next < items.length)
    throw typeError("not all arguments converted during string formatting")
  return text
}

function convert(
  value: Value,
  code: string,
  flags: ReadonlySet<string>,
  width: number,
  precision: number | undefined,
  runtime: Runtime,
): string {
  switch (code) {
    case "s":
    case "r":
    case "a": {
      const whole =
        code === "s" ? toText(value, runtime) : code === "r" ? toRepr(value, runtime) : asciiRepr(value, runtime)
      const cut =
        precision !== undefined && precision < textLength(whole) ? whole.slice(0, unitOffset(whole, precision)) : whole
      return padText(cut, flags, width)
    }
    case "c": {
      const text = asText(value)
      const integer = asInteger(value)
      if (text !== undefined && textLength(text) === 1) return padText(text, flags, width)
      if (integer !== undefined) return padText(String.fromCodePoint(Number(integer)), flags, width)
      throw typeError("%c requires int or char")
    }
    case "d":
    case "i":
    case "u": {
      const integer = typeof value === "number" ? truncateFloat(value) : asInteger(value)
      if (integer === undefined) throw typeError(`%${code} format: a real number is required, not ${typeName(value)}`)
      return padNumber(
        integer < 0n,
        "",
        atLeast((integer < 0n ? -integer : integer).toString(), precision),
        flags,
        width,
      )
    }
    case "x":
    case "X":
    case "o": {
      const integer = asInteger(value)
      if (integer === undefined) throw typeError(`%${code} format: an integer is required, not ${typeName(value)}`)
      const digits = (integer < 0n ? -integer : integer).toString(code === "o" ? 8 : 16)
      const body = atLeast(code === "X" ? digits.toUpperCase() : digits, precision)
      return padNumber(integer < 0n, flags.has("#") ? `0${code}` : "", body, flags, width)
    }
    case "e":
    case "E":
    case "f":
    case "F":
    case "g":
    case "G": {
      const integer = asInteger(value)
      const float = typeof value === "number" ? value : integer === undefined ? undefined : integerToFloat(integer)
      if (float === undefined) throw typeError(`must be real number, not ${typeName(value)}`)
      const { negative, digits } = floatDigits(float, code, precision, flags.has("#"))
      return padNumber(negative, "", digits, flags, width)
    }
    default:
      throw valueError(`unsupported format character '${code}'`)
  }
}

/** One value for HTML text. */
function convertInto(
  value: Value,
  code: string,
  flags: ReadonlySet<string>,
  width: number,
  precision: number | undefined,
  runtime: Runtime,
): string {
  const write = (given: Value, as: string): string => convert(given, as, flags, width, precision, runtime)
  const text = asText(value)
  switch (code) {
    case "s":
      return write(escaped(value, runtime), "s")
    case "r":
      return write(escapeMarkup(toRepr(value, runtime)), "s")
    case "a":
      return write(escapeMarkup(toRepr(value, runtime)).replace(/\P{ASCII}/gu, escapeCode), "s")
    case "d":
    case "i":
    case "u":
      if (text === undefined) return write(value, code)
      return write(neededNumber(parseInteger(text)), code)
    case "e":
    case "E":
    case "f":
    case "F":
    case "g":
    case "G":
      if (text === undefined) return write(value, code)
      return write(neededNumber(parseFloatText(text)), code)
    case "x":
    case "X":
    case "o":
    case "c":
      throw typeError(`%${code} format: an integer is required`)
    default:
      return write(value, code)
  }
}

function neededNumber(value: bigint | number | undefined): bigint | number {
  if (value === undefined) throw valueError("invalid literal for a number")
  return value
}

function asciiRepr(value: Value, runtime: Runtime): string {
  return toRepr(value, runtime).replace(/\P{ASCII}/gu, escapeCode)
}

function atLeast(digits: string, precision: number | undefined): string {
  return digits.padStart(precision ?? 0, "0")
}

function padText(text: string, flags: ReadonlySet<string>, width: number): string {
  const missing = width - textLength(text)
  if (missing <= 0) return text
  return flags.has("-") ? text + " ".repeat(missing) : " ".repeat(missing) + text
}

function padNumber(
  negative: boolean,
  prefix: string,
  digits: string,
  flags: ReadonlySet<string>,
  width: number,
): string {
  const sign = negative ? "-" : flags.has("+") ? "+" : flags.has(" ") ? " " : ""
  if (flags.has("0") && !flags.has("-"))
    return sign + prefix + digits.padStart(width - sign.length - prefix.length, "0")
  return padText(sign + prefix + digits, flags, width)
}
