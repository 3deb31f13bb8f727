import { freeSymbols, operandsOf, type Expression } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { toNumber } from "../numbers/rational.ts"
import {
  arcCosine,
  arcSine,
  arcTangent,
  complex,
  cosine,
  exponential,
  hyperbolicCosine,
  hyperbolicSine,
  inverseHyperbolicCosine,
  inverseHyperbolicSine,
  inverseHyperbolicTangent,
  logarithm,
  logGamma,
  magnitude,
  minus,
  notDefined,
  opposite,
  over,
  plus,
  raise,
  sine,
  squareRoot,
  times,
  type Complex,
} from "./complex.ts"
import { exactValue, seriesRange } from "./exact.ts"

/** Numeric values of expressions at one sample point. */
export class Evaluation {
  /** Largest term of any sum met: rounding errors are relative to it. */
  largestTerm = 0
  private readonly symbols: (name: string) => Complex
  private readonly budget: Budget
  private readonly bound = new Map<string, Complex>()

  constructor(symbols: (name: string) => Complex, budget: Budget) {
    this.symbols = symbols
    this.budget = budget
  }

  value(expression: Expression): Complex {
    if (!this.budget.spend(1)) return notDefined
    switch (expression.kind) {
      case "number":
        return complex(toNumber(expression.value))
      case "constant":
        return constants[expression.name]
      case "symbol":
        return this.bound.get(expression.name) ?? this.symbols(expression.name)
      case "sum": {
        let total = complex(0)
        for (const term of expression.terms) {
          const value = this.value(term)
          this.largestTerm = Math.max(this.largestTerm, magnitude(value))
          total = plus(total, value)
        }
        return total
      }
      case "product": {
        let total = complex(1)
        for (const factor of expression.factors) total = times(total, this.value(factor))
        return total
      }
      case "quotient":
        return over(this.value(expression.numerator), this.value(expression.denominator))
      case "power":
        if (expression.base.kind === "constant" && expression.base.name === "e") {
          return exponential(this.value(expression.exponent))
        }
        return raise(this.value(expression.base), this.value(expression.exponent))
      case "root":
        return this.root(expression.radicand, this.value(expression.index))
      case "negation":
        return opposite(this.value(expression.operand))
      case "percent":
        return over(this.value(expression.operand), complex(100))
      case "function":
        return this.call(
          expression.name,
          expression.operands.map((operand) => this.value(operand)),
        )
      case "opaque":
        return this.opaque(expression)
      case "relation":
        return this.mix(`relation ${expression.operators.join(" ")}`, expression.operands)
      case "interval":
        return this.mix(`interval ${expression.lowerOpen} ${expression.upperOpen}`, operandsOf(expression))
      case "combination":
        return this.mix(`combination ${expression.operator}`, operandsOf(expression))
      case "named-set":
        return this.mix(`named-set ${expression.name}`, [])
      case "plus-minus":
      case "set":
      case "tuple":
      case "matrix":
        return this.mix(expression.kind, operandsOf(expression))
    }
  }

  private root(of: Expression, index: Complex): Complex {
    const radicand = this.value(of)
    if (index.im === 0 && index.re === 2) return squareRoot(radicand)
    // The cube root of a negative number is real; of a symbol it is the principal one, as its powers are.
    if (radicand.im === 0 && radicand.re < 0 && index.im === 0 && Math.abs(index.re % 2) === 1) {
      if (freeSymbols(of).length === 0) return complex(-((-radicand.re) ** (1 / index.re)))
    }
    return raise(radicand, over(complex(1), index))
  }

  private call(name: string, operands: readonly Complex[]): Complex {
    const [a = notDefined, b] = operands
    const simple = functions[name]
    if (simple !== undefined) return simple(a)
    switch (name) {
      case "log":
        return b === undefined ? logarithm(a) : over(logarithm(a), logarithm(b))
      case "binomial":
        return b === undefined ? notDefined : binomial(a, b)
      case "mod":
        return b === undefined || !isReal(a, b) ? notDefined : complex(a.re - b.re * Math.floor(a.re / b.re))
      case "max":
        return isReal(...operands) ? complex(Math.max(...operands.map(({ re }) => re))) : notDefined
      case "min":
        return isReal(...operands) ? complex(Math.min(...operands.map(({ re }) => re))) : notDefined
      default:
        // gcd, lcm of what is no whole number: compared by its parts.
        return mixValues(name, operands)
    }
  }

  /** Finite series are added up; anything else gets a value that depends on its name and its parts alone. */
  private opaque(expression: Extract<Expression, { kind: "opaque" }>): Complex {
    if (expression.name === "sum" || expression.name === "prod") {
      const range = seriesRange(expression, (part) => exactValue(part, this.budget))
      if (range !== undefined) {
        const hidden = this.bound.get(range.variable)
        let total = complex(expression.name === "sum" ? 0 : 1)
        for (let index = range.first; index <= range.last; index++) {
          this.bound.set(range.variable, complex(index))
          const value = this.value(range.body)
          total = expression.name === "sum" ? plus(total, value) : times(total, value)
        }
        this.restore(range.variable, hidden)
        return total
      }
    }
    const [variable] = expression.bound
    if (variable === undefined) return this.mix(expression.name, expression.operands)
    // Bound variables are told apart by how deep they are bound, not by their letter.
    const hidden = this.bound.get(variable)
    this.bound.set(variable, this.symbols(`bound ${this.bound.size}`))
    const value = this.mix(expression.name, expression.operands)
    this.restore(variable, hidden)
    return value
  }

  private restore(variable: string, hidden: Complex | undefined): void {
    if (hidden === undefined) this.bound.delete(variable)
    else this.bound.set(variable, hidden)
  }

  private mix(name: string, operands: readonly Expression[]): Complex {
    return mixValues(
      name,
      operands.map((operand) => this.value(operand)),
    )
  }
}

const constants = {
  pi: complex(Math.PI),
  e: complex(Math.E),
  i: complex(0, 1),
  infinity: complex(Number.POSITIVE_INFINITY),
} as const

const reciprocalOf =
  (of: (a: Complex) => Complex) =>
  (a: Complex): Complex =>
    over(complex(1), of(a))
const ofReciprocal =
  (of: (a: Complex) => Complex) =>
  (a: Complex): Complex =>
    of(over(complex(1), a))
const tangent = (a: Complex): Complex => over(sine(a), cosine(a))
const hyperbolicTangent = (a: Complex): Complex =>
  a.im === 0 ? complex(Math.tanh(a.re)) : over(hyperbolicSine(a), hyperbolicCosine(a))
const onReal =
  (of: (a: number) => number) =>
  (a: Complex): Complex =>
    a.im === 0 ? complex(of(a.re)) : notDefined

/** Whole numbers that a computation missed by its rounding errors count as reached. */
const tolerantFloor = (value: number): number => {
  const nearest = Math.round(value)
  return Math.abs(value - nearest) < 1e-9 ? nearest : Math.floor(value)
}

const functions: Readonly<Record<string, (a: Complex) => Complex>> = {
  sin: sine,
  cos: cosine,
  tan: tangent,
  cot: (a) => over(cosine(a), sine(a)),
  sec: reciprocalOf(cosine),
  csc: reciprocalOf(sine),
  arcsin: arcSine,
  arccos: arcCosine,
  arctan: arcTangent,
  arccot: (a) => minus(complex(Math.PI / 2), arcTangent(a)),
  arcsec: ofReciprocal(arcCosine),
  arccsc: ofReciprocal(arcSine),
  sinh: hyperbolicSine,
  cosh: hyperbolicCosine,
  tanh: hyperbolicTangent,
  coth: reciprocalOf(hyperbolicTangent),
  sech: reciprocalOf(hyperbolicCosine),
  csch: reciprocalOf(hyperbolicSine),
  arcsinh: inverseHyperbolicSine,
  arsinh: inverseHyperbolicSine,
  arccosh: inverseHyperbolicCosine,
  arcosh: inverseHyperbolicCosine,
  arctanh: inverseHyperbolicTangent,
  artanh: inverseHyperbolicTangent,
  ln: logarithm,
  exp: exponential,
  abs: (a) => complex(magnitude(a)),
  floor: onReal(tolerantFloor),
  ceil: onReal((value) => -tolerantFloor(-value)),
  factorial: (a) => exponential(logGamma(plus(a, complex(1)))),
}

function binomial(n: Complex, k: Complex): Complex {
  if (k.im === 0 && Number.isInteger(k.re) && k.re >= 0 && k.re <= 100) {
    let result = complex(1)
    for (let index = 1; index <= k.re; index++) {
      result = times(result, over(plus(n, complex(index - k.re)), complex(index)))
    }
    return result
  }
  const gamma = (a: Complex): Complex => logGamma(plus(a, complex(1)))
  return exponential(minus(gamma(n), plus(gamma(k), gamma(minus(n, k)))))
}

function isReal(...values: readonly Complex[]): boolean {
  return values.every(({ im }) => im === 0)
}

/** A smooth function of the operands that differs from name to name, so that equal parts give equal values. */
function mixValues(name: string, operands: readonly Complex[]): Complex {
  const seed = hashText(name)
  let value = complex(1 + seed, 0.5 - seed)
  operands.forEach((operand, index) => {
    const weight = complex(0.6 + ((seed * (index + 3)) % 1), 0.3)
    value = plus(times(value, plus(weight, over(operand, complex(3)))), times(operand, complex(0.7 + seed)))
  })
  return value
}

/** A fraction between 0 and 1 that depends on the text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  }
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return ((hash ^ (hash >>> 15)) >>> 0) / 2 ** 32
}
