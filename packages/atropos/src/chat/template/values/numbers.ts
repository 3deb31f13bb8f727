// Python's int is a bigint here and its float a number, so that 1 and 1.0 stay apart.
import { TemplateFailure, valueError } from "./errors.ts"
import { stripEnd, stripStart } from "./text.ts"

/** repr(float): the shortest digits that read back, exponents from 1e16 and below 1e-4, always a mark of a float. */
export function floatRepr(value: number): string {
  if (Number.isNaN(value)) return "nan"
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf"
  if (Object.is(value, -0)) return "-0.0"
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e")
  const exponent = Number(exponentText)
  if (exponent >= -4 && exponent < 16) {
    const plain = plainDigits(mantissa, exponent)
    return plain.includes(".") ? plain : `${plain}.0`
  }
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`
}

function plainDigits(mantissa: string, exponent: number): string {
  const sign = mantissa.startsWith("-") ? "-" : ""
  const digits = mantissa.replace("-", "").replace(".", "")
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`
  if (digits.length <= exponent + 1) return sign + digits.padEnd(exponent + 1, "0")
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`
}

/** A finite float as the exact fraction `numerator / denominator`, denominator a power of two. */
export function exactFraction(value: number): { numerator: bigint; denominator: bigint } {
  let denominator = 1n
  let scaled = value
  while (!Number.isInteger(scaled)) {
    scaled *= 2
    denominator *= 2n
  }
  return { numerator: BigInt(scaled), denominator }
}

/** `numerator / denominator` rounded to an integer, ties to even. The denominator is positive. */
export function divideRounding(numerator: bigint, denominator: bigint): bigint {
  const floor = floorDivide(numerator, denominator)
  const twice = (numerator - floor * denominator) * 2n
  if (twice > denominator || (twice === denominator && floor % 2n !== 0n)) return floor + 1n
  return floor
}

export function floorDivide(left: bigint, right: bigint): bigint {
  const quotient = left / right
  return left % right !== 0n && left < 0n !== right < 0n ? quotient - 1n : quotient
}

/** int / int, rounded once: the operands may be too long for floats. */
export function divideIntegers(left: bigint, right: bigint): number {
  if (isSafe(left) && isSafe(right)) return Number(left) / Number(right)
  const negative = left < 0n !== right < 0n
  const a = left < 0n ? -left : left
  const b = right < 0n ? -right : right
  // A quotient of at least 66 bits, whose last bit says whether anything was cut off.
  const shift = 66 + b.toString(2).length - a.toString(2).length
  const [top, bottom] = shift >= 0 ? [a << BigInt(shift), b] : [a, b << BigInt(-shift)]
  const quotient = (top / bottom) | (top % bottom === 0n ? 0n : 1n)
  const result = Number(quotient) / 2 ** shift
  if (!Number.isFinite(result))
    throw new TemplateFailure("OverflowError", "integer division result too large for a float")
  return negative ? -result : result
}

function isSafe(value: bigint): boolean {
  return value <= BigInt(Number.MAX_SAFE_INTEGER) && value >= BigInt(Number.MIN_SAFE_INTEGER)
}

/** Decimal text of a finite float with `digits` places, exactly rounded (ties to even), as `%.Nf` writes it. */
export function fixedDigits(value: number, digits: number): string {
  const { numerator, denominator } = exactFraction(Math.abs(value))
  const scaled = divideRounding(numerator * 10n ** BigInt(digits), denominator)
  const text = scaled.toString().padStart(digits + 1, "0")
  const sign = value < 0 || Object.is(value, -0) ? "-" : ""
  return digits === 0 ? sign + text : `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

/** Digits and exponent of a finite float with `digits` places after the first, as `%.Ne` writes it. */
export function scientificDigits(
  value: number,
  digits: number,
): { negative: boolean; digits: string; exponent: number } {
  const negative = value < 0 || Object.is(value, -0)
  if (value === 0) return { negative, digits: "0".repeat(digits + 1), exponent: 0 }
  const { numerator, denominator } = exactFraction(Math.abs(value))
  let exponent = Number(Math.abs(value).toExponential().split("e")[1])
  for (;;) {
    const shift = digits - exponent
    const scaled =
      shift >= 0
        ? divideRounding(numerator * 10n ** BigInt(shift), denominator)
        : divideRounding(numerator, denominator * 10n ** BigInt(-shift))
    const text = scaled.toString()
    if (text.length === digits + 1) return { negative, digits: text, exponent }
    // Rounding up can add a digit: 9.99 -> 10.0.
    exponent += text.length > digits + 1 ? 1 : -1
  }
}

/** round(float, digits): half to even on the exact binary value. */
export function roundFloat(value: number, digits: number): number {
  if (!Number.isFinite(value) || digits > 320) return value
  if (digits >= 0) return Number(fixedDigits(value, digits))
  if (digits < -310) return value < 0 ? -0 : 0
  const { numerator, denominator } = exactFraction(value)
  const unit = 10n ** BigInt(-digits)
  const rounded = Number(divideRounding(numerator, denominator * unit) * unit)
  return rounded === 0 && value < 0 ? -0 : rounded
}

const decimalInteger = /^[+-]?\d+(_\d+)*$/
const floatText = /^[+-]?((\d+(_\d+)*)?\.?(\d+(_\d+)*)?(e[+-]?\d+(_\d+)*)?)$/i

/** int(text, base), or undefined where Python raises. */
export function parseInteger(text: string, base = 10): bigint | undefined {
  const trimmed = stripEnd(stripStart(text))
  if (base === 10) return decimalInteger.test(trimmed) ? signed(trimmed, "") : undefined
  const match = /^([+-]?)(0[xXoObB])?_?([0-9a-zA-Z]+(?:_[0-9a-zA-Z]+)*)$/.exec(trimmed)
  if (match === null) return undefined
  const [, sign = "", prefix = "", digits = ""] = match
  const prefixBase = { x: 16, o: 8, b: 2 }[prefix.slice(1).toLowerCase()]
  const whole = prefix + digits
  const usesPrefix = prefixBase !== undefined && (base === 0 || base === prefixBase)
  if (base === 0 && !usesPrefix)
    return decimalInteger.test(trimmed) && !/^[+-]?0+[1-9]/.test(trimmed) ? signed(trimmed, "") : undefined
  const body = (usesPrefix ? digits : whole).replaceAll("_", "").toLowerCase()
  return inBase(body, usesPrefix ? prefixBase : base, sign)
}

function signed(text: string, prefix: string): bigint {
  const digits = text.replace(/^[+-]/, "").replaceAll("_", "")
  const value = BigInt(prefix + digits)
  return text.startsWith("-") ? -value : value
}

function inBase(body: string, base: number, sign: string): bigint | undefined {
  if (base < 2 || base > 36) throw valueError("int() base must be >= 2 and <= 36, or 0")
  let value = 0n
  for (const character of body) {
    const digit = Number.parseInt(character, 36)
    if (Number.isNaN(digit) || digit >= base) return undefined
    value = value * BigInt(base) + BigInt(digit)
  }
  return sign === "-" ? -value : value
}

/** float(text), or undefined where Python raises. */
export function parseFloatText(text: string): number | undefined {
  const trimmed = stripEnd(stripStart(text))
  const named = /^([+-]?)(inf|infinity|nan)$/i.exec(trimmed)
  if (named !== null) {
    if ((named[2] ?? "").toLowerCase() === "nan") return Number.NaN
    return named[1] === "-" ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
  }
  if (!floatText.test(trimmed) || !/\d/.test(trimmed.split(/e/i)[0] ?? "")) return undefined
  return Number(trimmed.replaceAll("_", ""))
}

/** A float as an int, cut towards zero. */
export function truncateFloat(value: number): bigint {
  if (Number.isNaN(value)) throw valueError("cannot convert float NaN to integer")
  if (!Number.isFinite(value)) throw new TemplateFailure("OverflowError", "cannot convert float infinity to integer")
  return BigInt(Math.trunc(value))
}

/** An int as a float; a RangeError of JavaScript's would not come: too large ints become an error as in Python. */
export function integerToFloat(value: bigint): number {
  const float = Number(value)
  if (!Number.isFinite(float)) throw new TemplateFailure("OverflowError", "int too large to convert to float")
  return float
}
