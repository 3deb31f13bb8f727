// Python's operators on values.
import type { Runtime } from "../runtime.ts"
import { TemplateFailure, typeError } from "./errors.ts"
import { escaped } from "./markup-text.ts"
import { iterable } from "./iterate.ts"
import { divideIntegers, floorDivide, integerToFloat } from "./numbers.ts"
import { percentFormat } from "./percent-format.ts"
import { compareTexts } from "./text.ts"
import { toText } from "./show.ts"
import { asInteger, asText, Dict, DictView, Markup, Range, Tuple, typeName, Undefined, type Value } from "./value.ts"

/** `==` */
export function equals(left: Value, right: Value, runtime: Runtime): boolean {
  if (left === right) return true
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right) === 0
  const leftText = asText(left)
  if (leftText !== undefined) return leftText === asText(right)
  const leftItems = sequenceItems(left)
  const rightItems = sequenceItems(right)
  if (leftItems !== undefined && rightItems !== undefined)
    return (
      Array.isArray(left) === Array.isArray(right) &&
      leftItems.length === rightItems.length &&
      runtime.budget.nested(() => leftItems.every((item, i) => sameOrEqual(item, rightItems[i] ?? null, runtime)))
    )
  if (left instanceof Dict && right instanceof Dict) return dictsEqual(left, right, runtime)
  if (left instanceof Undefined) return right instanceof Undefined
  if (left instanceof Range && right instanceof Range) return equals([...left.items()], [...right.items()], runtime)
  if (left instanceof DictView && right instanceof DictView && left.typeName !== "dict_values")
    return left.dict.size === right.dict.size && [...left.items()].every((item) => contains(right, item, runtime))
  return false
}

/** How lists and `in` compare: the same object is equal to itself, NaN included. */
function sameOrEqual(left: Value, right: Value, runtime: Runtime): boolean {
  runtime.budget.spend(1)
  return Object.is(left, right) || equals(left, right, runtime)
}

function dictsEqual(left: Dict, right: Dict, runtime: Runtime): boolean {
  if (left.size !== right.size) return false
  return runtime.budget.nested(() => {
    for (const [key, value] of left.entries()) {
      const other = right.get(key)
      if (other === undefined || !sameOrEqual(value, other, runtime)) return false
    }
    return true
  })
}

type PythonNumber = bigint | number | boolean

export function isNumber(value: Value): value is PythonNumber {
  return typeof value === "bigint" || typeof value === "number" || typeof value === "boolean"
}

function compareNumbers(left: PythonNumber, right: PythonNumber): number {
  const a = typeof left === "boolean" ? Number(left) : left
  const b = typeof right === "boolean" ? Number(right) : right
  // JavaScript compares bigint and number by their exact values.
  return a < b ? -1 : a > b ? 1 : a == b ? 0 : Number.NaN
}

function sequenceItems(value: Value): readonly Value[] | undefined {
  if (Array.isArray(value)) return value
  return value instanceof Tuple ? value.items : undefined
}

/** Negative, zero or positive as `left` is before, with or after `right`; NaN where neither; fails for unlike types. */
export function compare(left: Value, right: Value, operator: string, runtime: Runtime): number {
  if (isNumber(left) && isNumber(right)) return compareNumbers(left, right)
  const leftText = asText(left)
  const rightText = asText(right)
  if (leftText !== undefined && rightText !== undefined) return compareTexts(leftText, rightText)
  const a = sequenceItems(left)
  const b = sequenceItems(right)
  if (a !== undefined && b !== undefined && Array.isArray(left) === Array.isArray(right))
    return runtime.budget.nested(() => {
      for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
        const x = a[i] ?? null
        const y = b[i] ?? null
        if (!sameOrEqual(x, y, runtime)) return compare(x, y, operator, runtime)
      }
      return a.length - b.length
    })
  failIfUndefined(left, right)
  throw typeError(`'${operator}' not supported between instances of '${typeName(left)}' and '${typeName(right)}'`)
}

export type Ordering = "<" | "<=" | ">" | ">="

export function ordered(left: Value, right: Value, operator: Ordering, runtime: Runtime): boolean {
  const order = compare(left, right, operator, runtime)
  switch (operator) {
    case "<":
      return order < 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case ">=":
      return order >= 0
  }
}

/** `item in container` */
export function contains(container: Value, item: Value, runtime: Runtime): boolean {
  const text = asText(container)
  if (text !== undefined) {
    const part = asText(item)
    if (part === undefined) throw typeError(`'in <string>' requires string as left operand, not ${typeName(item)}`)
    return text.includes(part)
  }
  if (container instanceof Dict) return container.has(item)
  if (container instanceof DictView && container.typeName === "dict_keys") return container.dict.has(item)
  if (container instanceof Range) {
    const { start, stop, step } = container
    const number = typeof item === "number" && Number.isInteger(item) ? BigInt(item) : asInteger(item)
    if (number === undefined) return false
    const inside = step > 0n ? number >= start && number < stop : number <= start && number > stop
    return inside && (number - start) % step === 0n
  }
  const items = iterable(container)
  if (items === undefined) throw typeError(`argument of type '${typeName(container)}' is not iterable`)
  for (const element of items) if (sameOrEqual(element, item, runtime)) return true
  return false
}

export function add(left: Value, right: Value, runtime: Runtime): Value {
  if (typeof left === "string" && typeof right === "string") {
    runtime.budget.text(left.length + right.length)
    return left + right
  }
  if (isNumber(left) && isNumber(right))
    return arithmetic(
      left,
      right,
      (a, b) => a + b,
      (a, b) => a + b,
    )
  if (left instanceof Markup || right instanceof Markup) {
    const a = asText(left)
    const b = asText(right)
    if (a !== undefined && b !== undefined) {
      runtime.budget.text(a.length + b.length)
      return new Markup(escaped(left, runtime) + escaped(right, runtime))
    }
  }
  if (Array.isArray(left) && Array.isArray(right)) {
    runtime.budget.list(left.length + right.length)
    return [...left, ...right]
  }
  if (left instanceof Tuple && right instanceof Tuple) {
    runtime.budget.list(left.items.length + right.items.length)
    return new Tuple([...left.items, ...right.items])
  }
  failIfUndefined(left, right)
  throw unsupported("+", left, right)
}

export function subtract(left: Value, right: Value): Value {
  if (isNumber(left) && isNumber(right))
    return arithmetic(
      left,
      right,
      (a, b) => a - b,
      (a, b) => a - b,
    )
  failIfUndefined(left, right)
  throw unsupported("-", left, right)
}

export function multiply(left: Value, right: Value, runtime: Runtime): Value {
  if (isNumber(left) && isNumber(right))
    return arithmetic(
      left,
      right,
      (a, b) => boundedInteger(a * b, runtime),
      (a, b) => a * b,
    )
  failIfUndefined(left, right)
  const [sequence, times] = asInteger(right) === undefined ? [right, asInteger(left)] : [left, asInteger(right)]
  if (times !== undefined) {
    const count = times < 0n ? 0 : Number(times)
    if (typeof sequence === "string") return repeatText(sequence, count, runtime)
    if (sequence instanceof Markup) return new Markup(repeatText(sequence.text, count, runtime))
    if (Array.isArray(sequence)) return repeatItems(sequence, count, runtime)
    if (sequence instanceof Tuple) return new Tuple(repeatItems(sequence.items, count, runtime))
  }
  throw unsupported("*", left, right)
}

function repeatText(text: string, count: number, runtime: Runtime): string {
  runtime.budget.text(text.length * count)
  return text === "" ? "" : text.repeat(count)
}

function repeatItems(items: readonly Value[], count: number, runtime: Runtime): Value[] {
  runtime.budget.list(items.length * count)
  return items.length === 0 ? [] : Array.from({ length: count }, () => items).flat()
}

export function trueDivide(left: Value, right: Value): Value {
  if (isNumber(left) && isNumber(right)) {
    const a = asInteger(left)
    const b = asInteger(right)
    if (b === 0n || right === 0) throw divisionByZero()
    return a !== undefined && b !== undefined ? divideIntegers(a, b) : toFloat(left) / toFloat(right)
  }
  failIfUndefined(left, right)
  throw unsupported("/", left, right)
}

export function floorDivision(left: Value, right: Value): Value {
  if (isNumber(left) && isNumber(right)) {
    if (toFloat(right) === 0) throw divisionByZero()
    return arithmetic(left, right, floorDivide, floorDivideFloats)
  }
  failIfUndefined(left, right)
  throw unsupported("//", left, right)
}

function floorDivideFloats(a: number, b: number): number {
  const remainder = floatModulo(a, b)
  const quotient = (a - remainder) / b
  if (quotient === 0) return a / b < 0 || Object.is(a / b, -0) ? -0 : 0
  const floor = Math.floor(quotient)
  return quotient - floor > 0.5 ? floor + 1 : floor
}

function floatModulo(a: number, b: number): number {
  const remainder = a % b
  if (remainder === 0) return b < 0 ? -0 : 0
  return remainder < 0 !== b < 0 ? remainder + b : remainder
}

export function modulo(left: Value, right: Value, runtime: Runtime): Value {
  if (isNumber(left) && isNumber(right)) {
    if (toFloat(right) === 0) throw divisionByZero()
    return arithmetic(left, right, (a, b) => a - floorDivide(a, b) * b, floatModulo)
  }
  if (typeof left === "string") return percentFormat(left, right, runtime)
  if (left instanceof Markup) return new Markup(percentFormat(left.text, right, runtime, true))
  failIfUndefined(left, right)
  throw unsupported("%", left, right)
}

const mostIntegerBits = 1 << 16

export function power(left: Value, right: Value): Value {
  if (isNumber(left) && isNumber(right)) {
    const base = asInteger(left)
    const exponent = asInteger(right)
    if (base !== undefined && exponent !== undefined && exponent >= 0n) {
      const bits = BigInt(base.toString(2).length) * exponent
      if (bits > BigInt(mostIntegerBits) && base !== 1n && base !== 0n && base !== -1n)
        throw new TemplateFailure("LimitError", `the template makes an integer of more than ${mostIntegerBits} bits`)
      return base === 1n || base === 0n || base === -1n ? smallPower(base, exponent) : base ** exponent
    }
    const a = toFloat(left)
    const b = toFloat(right)
    if (a === 0 && b < 0) throw new TemplateFailure("ZeroDivisionError", "0.0 cannot be raised to a negative power")
    const result = a ** b
    if (Number.isNaN(result) && !Number.isNaN(a) && !Number.isNaN(b))
      throw new TemplateFailure("NotSupported", "the template makes a complex number")
    if (!Number.isFinite(result) && Number.isFinite(a) && Number.isFinite(b))
      throw new TemplateFailure("OverflowError", "numerical result out of range")
    return result
  }
  failIfUndefined(left, right)
  throw unsupported("** or pow()", left, right)
}

function smallPower(base: bigint, exponent: bigint): bigint {
  if (exponent === 0n || base === 1n) return 1n
  return base === 0n ? 0n : exponent % 2n === 0n ? 1n : -1n
}

export function negate(value: Value): Value {
  if (typeof value === "number") return -value
  const integer = asInteger(value)
  if (integer !== undefined) return -integer
  failIfUndefined(value)
  throw typeError(`bad operand type for unary -: '${typeName(value)}'`)
}

export function positive(value: Value): Value {
  if (typeof value === "number") return value
  const integer = asInteger(value)
  if (integer !== undefined) return integer
  failIfUndefined(value)
  throw typeError(`bad operand type for unary +: '${typeName(value)}'`)
}

/** `a ~ b ~ c` */
export function concatenate(values: readonly Value[], runtime: Runtime): string {
  let text = ""
  for (const value of values) text += toText(value, runtime)
  runtime.budget.text(text.length)
  return text
}

/** `a ~ b ~ c` where escaping is on: HTML text as soon as one part is. */
export function joinMarkup(values: readonly Value[], runtime: Runtime): Value {
  if (!values.some((value) => value instanceof Markup)) return concatenate(values, runtime)
  const text = values.map((value) => escaped(value, runtime)).join("")
  runtime.budget.text(text.length)
  return new Markup(text)
}

export function toFloat(value: PythonNumber): number {
  if (typeof value === "number") return value
  return typeof value === "boolean" ? Number(value) : integerToFloat(value)
}

function arithmetic(
  left: PythonNumber,
  right: PythonNumber,
  ofIntegers: (a: bigint, b: bigint) => bigint,
  ofFloats: (a: number, b: number) => number,
): Value {
  const a = asInteger(left)
  const b = asInteger(right)
  return a !== undefined && b !== undefined ? ofIntegers(a, b) : ofFloats(toFloat(left), toFloat(right))
}

function boundedInteger(value: bigint, runtime: Runtime): bigint {
  const limit = 1n << BigInt(mostIntegerBits)
  if (value > limit || value < -limit)
    throw new TemplateFailure("LimitError", `the template makes an integer of more than ${mostIntegerBits} bits`)
  runtime.budget.spend(1)
  return value
}

function divisionByZero(): TemplateFailure {
  return new TemplateFailure("ZeroDivisionError", "division by zero")
}

function unsupported(operator: string, left: Value, right: Value): TemplateFailure {
  return typeError(`unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`)
}

export function failIfUndefined(...values: Value[]): void {
  for (const value of values) if (value instanceof Undefined) throw value.fail()
}
