import type { Expression } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { bitLength, type Rational } from "../numbers/rational.ts"
import {
  complex,
  exponential,
  logarithm,
  logGamma,
  magnitude,
  minus,
  opposite,
  over,
  plus,
  times,
  type Complex,
} from "./complex.ts"
import { exactValue } from "./exact.ts"

/**
 * The natural logarithm of a value too large or too small for a double; undefined for zero and for what cannot be
 * followed this way. `symbols` gives values of symbols as in a plain evaluation.
 */
export function logValue(
  expression: Expression,
  symbols: (name: string) => Complex,
  budget: Budget,
): Complex | undefined {
  if (!budget.spend(1)) return undefined
  const of = (part: Expression): Complex | undefined => logValue(part, symbols, budget)
  const isZero = (part: Expression): boolean => exactValue(part, budget)?.numerator === 0n
  const plain = (part: Expression): Complex | undefined => {
    const log = of(part)
    if (log === undefined) return isZero(part) ? complex(0) : undefined
    const value = exponential(log)
    return Number.isFinite(value.re) && Number.isFinite(value.im) ? value : undefined
  }
  switch (expression.kind) {
    case "number":
      return logOfRational(expression.value)
    case "constant":
      if (expression.name === "infinity") return undefined
      return logarithm({ pi: complex(Math.PI), e: complex(Math.E), i: complex(0, 1) }[expression.name])
    case "symbol":
      return logarithm(symbols(expression.name))
    case "sum": {
      const logs: Complex[] = []
      for (const term of expression.terms) {
        const log = of(term)
        if (log !== undefined) logs.push(log)
        else if (!isZero(term)) return undefined
      }
      const [first, ...rest] = logs.toSorted((a, b) => b.re - a.re)
      if (first === undefined) return undefined
      let ratio = complex(1)
      for (const log of rest) ratio = plus(ratio, exponential(minus(log, first)))
      return magnitude(ratio) < 1e-12 ? undefined : plus(first, logarithm(ratio))
    }
    case "product":
      return all(expression.factors.map(of), (logs) => logs.reduce(plus, complex(0)))
    case "quotient":
      return all([of(expression.numerator), of(expression.denominator)], ([a, b]) => a && b && minus(a, b))
    case "power":
      return all(
        [of(expression.base), plain(expression.exponent)],
        ([base, exponent]) => base && exponent && times(base, exponent),
      )
    case "root":
      return all(
        [of(expression.radicand), plain(expression.index)],
        ([base, index]) => base && index && over(base, index),
      )
    case "negation": {
      const log = of(expression.operand)
      return log && plus(log, complex(0, Math.PI))
    }
    case "percent": {
      const log = of(expression.operand)
      return log && minus(log, complex(Math.log(100)))
    }
    case "function": {
      const [operand] = expression.operands
      if (operand === undefined) return undefined
      if (expression.name === "factorial") {
        const value = plain(operand)
        return value && logGamma(plus(value, complex(1)))
      }
      if (expression.name === "exp") return plain(operand)
      if (expression.name === "ln" || (expression.name === "log" && expression.operands.length === 1)) {
        const log = of(operand)
        return log && logarithm(log)
      }
      if (expression.name === "abs") {
        const log = of(operand)
        return log && complex(log.re)
      }
      return undefined
    }
    case "set":
    case "tuple":
    case "interval":
    case "combination":
    case "named-set":
    case "matrix":
    case "relation":
    case "plus-minus":
    case "opaque":
      return undefined
  }
}

function all<T>(
  logs: readonly (Complex | undefined)[],
  combine: (logs: readonly Complex[]) => T | undefined,
): T | undefined {
  const known = logs.filter((log) => log !== undefined)
  return known.length === logs.length ? combine(known) : undefined
}

function logOfRational(value: Rational): Complex | undefined {
  if (value.numerator === 0n) return undefined
  const negative = value.numerator < 0n
  const size = minus(logOfWhole(negative ? -value.numerator : value.numerator), logOfWhole(value.denominator))
  return negative ? plus(size, complex(0, Math.PI)) : size
}

function logOfWhole(value: bigint): Complex {
  const excess = Math.max(0, bitLength({ numerator: value, denominator: 1n }) - 100)
  return complex(Math.log(Number(value >> BigInt(excess))) + excess * Math.LN2)
}

/** Whether two values given by their logarithms agree. */
export function logsAgree(a: Complex, b: Complex): boolean {
  const difference = plus(a, opposite(b))
  const tolerance = 1e-9 + 4e-15 * Math.max(Math.abs(a.re), Math.abs(b.re))
  const turns = difference.im / (2 * Math.PI)
  const phaseTolerance = 1e-9 + 1e-14 * Math.max(Math.abs(a.im), Math.abs(b.im))
  return Math.abs(difference.re) <= tolerance && Math.abs(turns - Math.round(turns)) <= phaseTolerance
}
