import { freeSymbols, type Expression } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import {
  add,
  bitLength,
  compare,
  divide,
  greatestCommonDivisor,
  hundred,
  integer,
  maxBits,
  multiply,
  negate,
  one,
  power,
  root,
  toNumber,
  zero,
  type Rational,
} from "../numbers/rational.ts"

/** Terms of a finite sum or product that are written out. */
const maxTerms = 1000
const maxFactorial = 1500

/**
 * The exact value of an expression without roots that are not rational and without transcendental functions; else
 * undefined. `symbols` gives values to symbols; without one there is none.
 */
export function exactValue(
  expression: Expression,
  budget: Budget,
  symbols: ReadonlyMap<string, Rational> = noVariables,
): Rational | undefined {
  return new ExactEvaluation(budget).value(expression, symbols)
}

const noVariables: ReadonlyMap<string, Rational> = new Map()

class ExactEvaluation {
  private readonly budget: Budget

  constructor(budget: Budget) {
    this.budget = budget
  }

  /** Counts the work of one operation on numbers of this size; false when there has been too much. */
  private affords(...values: readonly Rational[]): boolean {
    let bits = 0
    for (const value of values) bits += bitLength(value)
    return bits <= maxBits && this.budget.spend(1 + (bits * bits) / 10_000)
  }

  private combine(
    operation: (a: Rational, b: Rational) => Rational | undefined,
    a: Rational | undefined,
    b: Rational | undefined,
  ): Rational | undefined {
    if (a === undefined || b === undefined || !this.affords(a, b)) return undefined
    return operation(a, b)
  }

  value(expression: Expression, bound: ReadonlyMap<string, Rational>): Rational | undefined {
    if (!this.budget.spend(1)) return undefined
    switch (expression.kind) {
      case "number":
        return expression.value
      case "symbol":
        return bound.get(expression.name)
      case "sum": {
        let total: Rational | undefined = zero
        for (const term of expression.terms) {
          total = this.combine(add, total, this.value(term, bound))
          if (total === undefined) return undefined
        }
        return total
      }
      case "product": {
        let total: Rational | undefined = one
        for (const factor of expression.factors) {
          total = this.combine(multiply, total, this.value(factor, bound))
          if (total === undefined) return undefined
        }
        return total
      }
      case "quotient": {
        const numerator = this.value(expression.numerator, bound)
        return numerator && this.combine(divide, numerator, this.value(expression.denominator, bound))
      }
      case "power": {
        const base = this.value(expression.base, bound)
        return base && this.power(base, this.value(expression.exponent, bound))
      }
      case "root": {
        const index = this.value(expression.index, bound)
        const radicand = this.value(expression.radicand, bound)
        if (index === undefined || radicand === undefined || !isSmallWhole(index, 1, 100)) return undefined
        return this.affords(radicand, radicand) ? root(radicand, Number(index.numerator)) : undefined
      }
      case "negation": {
        const operand = this.value(expression.operand, bound)
        return operand && negate(operand)
      }
      case "percent": {
        const operand = this.value(expression.operand, bound)
        return this.combine(divide, operand, hundred)
      }
      case "function":
        return this.call(expression.name, expression.operands, bound)
      case "opaque":
        return expression.name === "sum" || expression.name === "prod" ? this.series(expression, bound) : undefined
      case "set":
      case "tuple":
      case "interval":
      case "combination":
      case "named-set":
      case "matrix":
      case "relation":
      case "plus-minus":
      case "constant":
        return undefined
    }
  }

  private power(base: Rational, exponent: Rational | undefined): Rational | undefined {
    if (exponent === undefined) return undefined
    if (exponent.denominator === 1n) {
      const result = power(base, exponent.numerator)
      return result !== undefined && this.affords(result) ? result : undefined
    }
    // Only the positive root of a positive number: others are a matter of the branch.
    if (base.numerator < 0n || exponent.denominator > 100n || !this.affords(base, base)) return undefined
    const base1 = root(base, Number(exponent.denominator))
    return base1 && this.power(base1, integer(exponent.numerator))
  }

  private call(
    name: string,
    operands: readonly Expression[],
    bound: ReadonlyMap<string, Rational>,
  ): Rational | undefined {
    const values: Rational[] = []
    for (const operand of operands) {
      const value = this.value(operand, bound)
      if (value === undefined) return undefined
      values.push(value)
    }
    const [first, second] = values
    if (first === undefined) return undefined
    switch (name) {
      case "abs":
        return first.numerator < 0n ? negate(first) : first
      case "floor":
        return integer(floor(first))
      case "ceil":
        return integer(-floor(negate(first)))
      case "max":
        return values.reduce((best, value) => (compare(value, best) > 0 ? value : best))
      case "min":
        return values.reduce((best, value) => (compare(value, best) < 0 ? value : best))
      case "factorial":
        return this.factorial(first)
      case "binomial":
        return second && this.binomial(first, second)
      case "mod":
        if (second === undefined || second.numerator === 0n || !this.affords(first, second)) return undefined
        return add(first, negate(multiply(second, integer(floor(divide(first, second) ?? zero)))))
      case "gcd":
      case "lcm":
        return this.divisors(name, values)
      default:
        return undefined
    }
  }

  private factorial(of: Rational): Rational | undefined {
    if (!isSmallWhole(of, 0, maxFactorial)) return undefined
    if (!this.budget.spend(Number(of.numerator))) return undefined
    let result = 1n
    for (let factor = 2n; factor <= of.numerator; factor++) result *= factor
    const value = integer(result)
    return this.affords(value) ? value : undefined
  }

  private binomial(n: Rational, k: Rational): Rational | undefined {
    if (!isSmallWhole(n, 0, 5000) || !isSmallWhole(k, 0, 5000)) return undefined
    if (k.numerator > n.numerator) return zero
    const size = k.numerator * 2n > n.numerator ? n.numerator - k.numerator : k.numerator
    if (!this.budget.spend(Number(size) * 4)) return undefined
    let result = 1n
    for (let index = 1n; index <= size; index++) result = (result * (n.numerator - size + index)) / index
    const value = integer(result)
    return this.affords(value) ? value : undefined
  }

  private divisors(name: "gcd" | "lcm", values: readonly Rational[]): Rational | undefined {
    if (values.some((value) => value.denominator !== 1n) || !this.affords(...values)) return undefined
    const whole = values.map((value) => (value.numerator < 0n ? -value.numerator : value.numerator))
    if (whole.includes(0n)) return name === "lcm" ? zero : undefined
    return integer(
      whole.reduce((a, b) => (name === "gcd" ? greatestCommonDivisor(a, b) : (a / greatestCommonDivisor(a, b)) * b)),
    )
  }

  /** A sum or product over whole numbers between whole bounds. */
  private series(
    expression: Extract<Expression, { kind: "opaque" }>,
    bound: ReadonlyMap<string, Rational>,
  ): Rational | undefined {
    const range = seriesRange(expression, (part) => this.value(part, bound))
    if (range === undefined) return undefined
    let total: Rational | undefined = expression.name === "sum" ? zero : one
    const inner = new Map(bound)
    for (let index = range.first; index <= range.last; index++) {
      inner.set(range.variable, integer(index))
      total = this.combine(expression.name === "sum" ? add : multiply, total, this.value(range.body, inner))
      if (total === undefined) return undefined
    }
    return total
  }
}

/** What a finite series runs over, when its bounds are whole numbers not too far apart. */
export function seriesRange(
  expression: Extract<Expression, { kind: "opaque" }>,
  evaluate: (part: Expression) => Rational | undefined,
): { variable: string; body: Expression; first: number; last: number } | undefined {
  const [variable] = expression.bound
  const [body, lower, upper] = expression.operands
  if (variable === undefined || body === undefined || lower === undefined || upper === undefined) return undefined
  if (freeSymbols(lower).length > 0 || freeSymbols(upper).length > 0) return undefined
  const first = evaluate(lower)
  const last = evaluate(upper)
  if (first?.denominator !== 1n || last?.denominator !== 1n) return undefined
  if (last.numerator - first.numerator > BigInt(maxTerms)) return undefined
  return { variable, body, first: toNumber(first), last: toNumber(last) }
}

function isSmallWhole(value: Rational, from: number, to: number): boolean {
  return value.denominator === 1n && value.numerator >= BigInt(from) && value.numerator <= BigInt(to)
}

function floor(value: Rational): bigint {
  const quotient = value.numerator / value.denominator
  return value.numerator < 0n && quotient * value.denominator !== value.numerator ? quotient - 1n : quotient
}
