import { TemplateFailure, typeError } from "../values/errors.ts"
import { isTrue } from "../values/iterate.ts"
import {
  divideRounding,
  fixedDigits,
  parseFloatText,
  parseInteger,
  roundFloat,
  truncateFloat,
} from "../values/numbers.ts"
import { isNumber, multiply, power, toFloat, trueDivide } from "../values/operators.ts"
import { asInteger, asText, typeName, Undefined } from "../values/value.ts"
import { integerArgument, textArgument, type Filter } from "./arguments.ts"
import { sequenceFilters } from "./sequence-filters.ts"
import { tests } from "./tests.ts"
import { textFilters } from "./text-filters.ts"

const defaultValue: Filter = (input, args) => {
  const [standard = "", boolean = false] = args.bind("default", ["default_value", "boolean"])
  return input instanceof Undefined || (isTrue(boolean) && !isTrue(input)) ? standard : input
}

const toInteger: Filter = (input, args) => {
  const [standard = 0n, baseValue] = args.bind("int", ["default", "base"])
  if (input instanceof Undefined) throw input.fail()
  if (typeof input === "number") return Number.isNaN(input) ? standard : truncateFloat(input)
  const integer = asInteger(input)
  if (integer !== undefined) return integer
  const text = asText(input)
  if (text === undefined) return standard
  const parsed = parseInteger(text, integerArgument("int", baseValue, 10))
  if (parsed !== undefined) return parsed
  const float = parseFloatText(text)
  return float === undefined || !Number.isFinite(float) ? standard : truncateFloat(float)
}

const toFloatFilter: Filter = (input, args) => {
  const [standard = 0] = args.bind("float", ["default"])
  if (input instanceof Undefined) throw input.fail()
  if (isNumber(input)) return toFloat(input)
  const text = asText(input)
  return (text === undefined ? undefined : parseFloatText(text)) ?? standard
}

const round: Filter = (input, args, runtime) => {
  const [precisionValue, methodValue] = args.bind("round", ["precision", "method"])
  const precision = integerArgument("round", precisionValue, 0)
  const method = textArgument("round", methodValue, "common")
  if (method !== "common" && method !== "ceil" && method !== "floor")
    throw new TemplateFailure("TemplateError", "method must be common, ceil or floor")
  if (input instanceof Undefined) throw input.fail()
  const integer = asInteger(input)
  if (method === "common") {
    if (typeof input === "number") return roundFloat(input, precision)
    if (integer === undefined) throw typeError(`type ${typeName(input)} doesn't define __round__ method`)
    if (precision >= 0) return integer
    const unit = 10n ** BigInt(Math.min(-precision, 1 << 12))
    return divideRounding(integer, unit) * unit
  }
  const scale = power(10n, BigInt(precision))
  const scaled = multiply(input, scale, runtime)
  if (!isNumber(scaled)) throw typeError(`must be real number, not ${typeName(input)}`)
  return trueDivide(towards(method, scaled), scale)
}

function towards(method: "ceil" | "floor", value: bigint | number | boolean): bigint {
  if (typeof value !== "number") return BigInt(value)
  if (!Number.isFinite(value)) throw new TemplateFailure("OverflowError", "cannot convert float infinity to integer")
  return BigInt(method === "ceil" ? Math.ceil(value) : Math.floor(value))
}

const absolute: Filter = (input, args) => {
  args.bind("abs", [])
  if (typeof input === "number") return Math.abs(input)
  const integer = asInteger(input)
  if (integer !== undefined) return integer < 0n ? -integer : integer
  throw input instanceof Undefined ? input.fail() : typeError(`bad operand type for abs(): '${typeName(input)}'`)
}

const fileSize: Filter = (input, args) => {
  const [binary = false] = args.bind("filesizeformat", ["binary"])
  const text = asText(input)
  const size = text === undefined ? (isNumber(input) ? toFloat(input) : undefined) : parseFloatText(text)
  if (size === undefined) throw typeError("filesizeformat wants a number")
  const base = isTrue(binary) ? 1024 : 1000
  const prefixes = isTrue(binary)
    ? ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB", "YiB"]
    : ["kB", "MB", "GB", "TB", "PB", "EB", "ZB", "YB"]
  if (size === 1) return "1 Byte"
  if (size < base) return `${truncateFloat(size)} Bytes`
  const index = prefixes.findIndex((_, i) => size < base ** (i + 2))
  const found = index < 0 ? prefixes.length - 1 : index
  return `${fixedDigits((base * size) / base ** (found + 2), 1)} ${prefixes[found] ?? ""}`
}

export const filters: ReadonlyMap<string, Filter> = new Map<string, Filter>([
  ...textFilters,
  ...sequenceFilters({ filter: (name) => filters.get(name), test: (name) => tests.get(name) }),
  ["default", defaultValue],
  ["d", defaultValue],
  ["int", toInteger],
  ["float", toFloatFilter],
  ["round", round],
  ["abs", absolute],
  ["filesizeformat", fileSize],
  [
    "random",
    () => {
      throw new TemplateFailure(
        "NotSupported",
        "the filter 'random' is not supported: a prompt has to be the same each time",
      )
    },
  ],
])
