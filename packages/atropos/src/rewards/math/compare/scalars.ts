import { contains, freeSymbols, type Expression } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { divide, equals, fraction, one, roundToPlaces, toNumber, type Rational } from "../numbers/rational.ts"
import { complex, magnitude, minus, over, type Complex } from "./complex.ts"
import { Evaluation, hashText } from "./evaluate.ts"
import { exactValue } from "./exact.ts"
import { logsAgree, logValue } from "./logarithmic.ts"
import { infiniteSign, isFormal } from "./values.ts"

/** Points at which two expressions with symbols must agree. */
const samplePoints = 6
const relativeTolerance = 1e-9
const constantTolerance = 1e-11

/** Whether two scalar expressions have the same value, for all values of their symbols. */
export function scalarsEqual(gold: Expression, answer: Expression, floatRounding: number, budget: Budget): boolean {
  const infinite = infiniteSign(gold)
  if (infinite !== 0 || infiniteSign(answer) !== 0) return infinite === infiniteSign(answer)
  const [exactGold, exactAnswer] = [exactValue(gold, budget), exactValue(answer, budget)]
  const decimal = hasDecimal(gold) || hasDecimal(answer)
  if (exactGold !== undefined && exactAnswer !== undefined) {
    if (equals(exactGold, exactAnswer)) return true
    return decimal && roundedEqual(exactGold, exactAnswer, floatRounding)
  }
  const names = [...new Set([...freeSymbols(gold), ...freeSymbols(answer)])]
  const exact = decimal ? undefined : exactlyEqual(gold, answer, names, budget)
  if (exact !== undefined) return exact
  const isConstant = names.length === 0
  const points = isConstant && !contains(gold, isFormal) && !contains(answer, isFormal) ? 1 : samplePoints
  for (let point = 0; point < points; point++) {
    if (!agreeAt(gold, answer, point, { isConstant, places: decimal ? floatRounding : undefined, budget })) return false
  }
  return true
}

/**
 * Whether two rational functions have the same values at some rational points; undefined when they are more than that.
 * Doubles would not tell `x + 10^{15}` from `x + 10^{15} + 1`.
 */
function exactlyEqual(
  gold: Expression,
  answer: Expression,
  names: readonly string[],
  budget: Budget,
): boolean | undefined {
  if (names.length === 0) return undefined
  for (let point = 0; point < samplePoints; point++) {
    const symbols = rationalSample(names, point)
    const [a, b] = [exactValue(gold, budget, symbols), exactValue(answer, budget, symbols)]
    if (a === undefined || b === undefined) return undefined
    if (!equals(a, b)) return false
  }
  return true
}

/** A small fraction for each symbol, positive at some points and negative at others. */
function rationalSample(names: readonly string[], point: number): Map<string, Rational> {
  return new Map(
    names.map((name): [string, Rational] => {
      const numerator = BigInt(Math.round(sampleValue(name, point).re * 97))
      return [name, fraction(numerator === 0n ? 41n : numerator, 31n) ?? one]
    }),
  )
}

function hasDecimal(expression: Expression): boolean {
  return contains(expression, (part) => part.kind === "number" && part.decimal)
}

/** Rounded to `places`, or to two digits where fewer would be left. */
function roundedEqual(a: Rational, b: Rational, places: number): boolean {
  if (roundToPlaces(a, places) !== roundToPlaces(b, places)) return false
  return closeEnough(toNumber(a), toNumber(b), places)
}

function closeEnough(a: number, b: number, places: number): boolean {
  const size = Math.max(Math.abs(a), Math.abs(b))
  return size >= 10 ** (1 - places) || Math.abs(a - b) <= 0.01 * size
}

function agreeAt(
  gold: Expression,
  answer: Expression,
  point: number,
  { isConstant, places, budget }: { isConstant: boolean; places: number | undefined; budget: Budget },
): boolean {
  const symbols = (name: string): Complex => sampleValue(name, point)
  const [first, second] = [new Evaluation(symbols, budget), new Evaluation(symbols, budget)]
  const [a, b] = [first.value(gold), second.value(answer)]
  if (isOrdinary(a) && isOrdinary(b)) {
    if (isConstant && places !== undefined && roundedNumbersEqual(a, b, places)) return true
    const difference = magnitude(minus(a, b))
    const tolerance = isConstant ? constantTolerance : relativeTolerance
    if (difference <= tolerance * Math.max(magnitude(a), magnitude(b))) return true
    // Two ways to write zero differ by what was lost in their terms.
    return difference <= 1e-13 * Math.max(first.largestTerm, second.largestTerm)
  }
  if (Number.isNaN(a.re) || Number.isNaN(b.re)) {
    if (isUndefinedFor(gold, a, budget) || isUndefinedFor(answer, b, budget)) return false
  }
  const [logA, logB] = [logValue(gold, symbols, budget), logValue(answer, symbols, budget)]
  return logA !== undefined && logB !== undefined && isFinitePair(logA) && isFinitePair(logB) && logsAgree(logA, logB)
}

/** Neither undefined nor beyond what a double can hold. */
function isOrdinary(value: Complex): boolean {
  const size = magnitude(value)
  return Number.isFinite(size) && (size === 0 || size > 1e-290)
}

function isFinitePair(value: Complex): boolean {
  return Number.isFinite(value.re) && Number.isFinite(value.im)
}

/** Undefined as such (division by zero), and not for its size. */
function isUndefinedFor(expression: Expression, value: Complex, budget: Budget): boolean {
  return (
    Number.isNaN(value.re) &&
    contains(expression, (part) => part.kind === "quotient" && exactValue(part.denominator, budget)?.numerator === 0n)
  )
}

function roundedNumbersEqual(a: Complex, b: Complex, places: number): boolean {
  const scale = 10 ** places
  const same = (x: number, y: number): boolean =>
    Math.abs(x) * scale < 2 ** 53 && Math.round(x * scale) === Math.round(y * scale)
  return same(a.re, b.re) && same(a.im, b.im) && closeEnough(magnitude(a), magnitude(b), places)
}

/** In which order the points are positive and negative: all have both, so that branches show. */
const signPatterns = [
  [1, -1, 1, -1, 1, -1],
  [1, 1, -1, -1, 1, -1],
  [1, -1, -1, 1, 1, -1],
] as const

/** A real value for a symbol: positive at some points and negative at others, never a round one. */
function sampleValue(name: string, point: number): Complex {
  const hash = hashText(name)
  const sign = signPatterns[Math.floor(hash * 3)]?.[point] ?? 1
  return complex((hash * 6) % 1 < 0.5 ? sign * sampleSize(name, point) : -sign * sampleSize(name, point))
}

function sampleSize(name: string, point: number): number {
  return 0.3 + 2.4 * hashText(`${name}/${point}`)
}

/** Whether one is a percentage of a whole number and the other is that number itself. */
export function isSameWholePercentage(percentage: Expression, bare: Expression, budget: Budget): boolean {
  if (percentage.kind === "negation" && bare.kind === "negation") {
    return isSameWholePercentage(percentage.operand, bare.operand, budget)
  }
  if (percentage.kind !== "percent") return false
  const [value, other] = [exactValue(percentage.operand, budget), exactValue(bare, budget)]
  return value?.denominator === 1n && other !== undefined && equals(value, other)
}

/** Whether `a` and `b` differ by a factor that is the same everywhere; that factor's sign, or undefined. */
export function proportion(a: Expression, b: Expression, budget: Budget): -1 | 1 | undefined {
  const names = [...new Set([...freeSymbols(a), ...freeSymbols(b)])]
  const exact = exactProportion(a, b, names, budget)
  return exact === "unknown" ? sampledProportion(a, b, budget) : exact
}

function exactProportion(
  a: Expression,
  b: Expression,
  names: readonly string[],
  budget: Budget,
): -1 | 1 | undefined | "unknown" {
  let factor: Rational | undefined
  for (let point = 0; point < samplePoints; point++) {
    const symbols = rationalSample(names, point)
    const [x, y] = [exactValue(a, budget, symbols), exactValue(b, budget, symbols)]
    if (x === undefined || y === undefined) return "unknown"
    if (names.length === 0 && x.numerator === 0n && y.numerator === 0n) return 1
    const ratio = divide(x, y)
    if (ratio === undefined || ratio.numerator === 0n) return undefined
    if (factor === undefined) factor = ratio
    else if (!equals(factor, ratio)) return undefined
  }
  return factor === undefined ? undefined : factor.numerator > 0n ? 1 : -1
}

/** Of the sample points, some are repeated this far out, where large constants show. */
const farOut = 1e5

function sampledProportion(a: Expression, b: Expression, budget: Budget): -1 | 1 | undefined {
  let factor: Complex | undefined
  for (const [point, scale] of [...Array(samplePoints).keys()].flatMap((index) => [
    [index, 1] as const,
    [index, farOut] as const,
  ])) {
    const symbols = (name: string): Complex => complex(sampleValue(name, point).re * scale)
    const [x, y] = [new Evaluation(symbols, budget).value(a), new Evaluation(symbols, budget).value(b)]
    if (!isOrdinary(x) || !isOrdinary(y) || magnitude(x) === 0 || magnitude(y) === 0) {
      // Far out a value may well be beyond doubles.
      if (scale === 1) return undefined
      continue
    }
    const ratio = over(x, y)
    if (factor === undefined) factor = ratio
    else if (magnitude(minus(ratio, factor)) > relativeTolerance * magnitude(factor)) return undefined
  }
  if (factor === undefined || Math.abs(factor.im) > 1e-9 * magnitude(factor)) return undefined
  return factor.re > 0 ? 1 : -1
}
