import type { Rational } from "./numbers/rational.ts"

export type RelationOperator = "=" | "!=" | "<" | "<=" | ">" | ">="

/** What a piece of mathematics was read as: scalars, and the structures made of them. */
export type Expression =
  | NumberLiteral
  | { kind: "constant"; name: "pi" | "e" | "i" | "infinity" }
  /** A letter, a letter with a subscript, or a `\text` word (lower case, no spaces). */
  | { kind: "symbol"; name: string }
  | { kind: "sum"; terms: readonly Expression[] }
  /** `implicit`: written without an operator, so that letters may have been meant as a word. */
  | { kind: "product"; factors: readonly Expression[]; implicit: boolean }
  | { kind: "quotient"; numerator: Expression; denominator: Expression }
  | { kind: "power"; base: Expression; exponent: Expression }
  | { kind: "root"; radicand: Expression; index: Expression }
  | { kind: "negation"; operand: Expression }
  | { kind: "percent"; operand: Expression }
  /** A function with a known meaning: `sin`, `log` (argument, base), `factorial`, `binomial`, … */
  | { kind: "function"; name: string; operands: readonly Expression[] }
  /** Something compared by its parts only: `f(x)`, a sum, an integral, a limit. `bound` names its own variables. */
  | { kind: "opaque"; name: string; operands: readonly Expression[]; bound: readonly string[] }
  /** Both signs; several of one expression go together. `minusFirst` is `\mp`. */
  | { kind: "plus-minus"; operand: Expression; minusFirst: boolean }
  | { kind: "set"; elements: readonly Expression[] }
  | { kind: "tuple"; elements: readonly Expression[] }
  | Interval
  | { kind: "combination"; operator: "union" | "intersection" | "difference"; left: Expression; right: Expression }
  | { kind: "named-set"; name: string }
  | { kind: "matrix"; rows: readonly (readonly Expression[])[] }
  /** A chain `operands[0] operators[0] operands[1] …`. */
  | { kind: "relation"; operators: readonly RelationOperator[]; operands: readonly Expression[] }

export interface NumberLiteral {
  kind: "number"
  value: Rational
  /** Written with a decimal point: compared after rounding. */
  decimal: boolean
  /** `3,100` may have been meant as two numbers; their values. */
  groups?: readonly Rational[]
  /** That number stood alone in parentheses. */
  parenthesised?: boolean
}

export interface Interval {
  kind: "interval"
  lower: Expression
  upper: Expression
  lowerOpen: boolean
  upperOpen: boolean
}

/** One thing found in a text: a tree, or the text itself where it was asked to stand in. */
export type MathItem =
  | { kind: "expression"; expression: Expression; boxed: boolean; source: string }
  | { kind: "text"; text: string }

/** The operands an expression is made of, in order. */
export function operandsOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case "number":
    case "constant":
    case "symbol":
    case "named-set":
      return []
    case "sum":
      return expression.terms
    case "product":
      return expression.factors
    case "quotient":
      return [expression.numerator, expression.denominator]
    case "power":
      return [expression.base, expression.exponent]
    case "root":
      return [expression.radicand, expression.index]
    case "negation":
    case "percent":
    case "plus-minus":
      return [expression.operand]
    case "function":
    case "opaque":
    case "relation":
      return expression.operands
    case "set":
    case "tuple":
      return expression.elements
    case "interval":
      return [expression.lower, expression.upper]
    case "combination":
      return [expression.left, expression.right]
    case "matrix":
      return expression.rows.flat()
  }
}

/** The same expression with `change` applied to each operand. */
export function mapOperands(expression: Expression, change: (operand: Expression) => Expression): Expression {
  switch (expression.kind) {
    case "number":
    case "constant":
    case "symbol":
    case "named-set":
      return expression
    case "sum":
      return { ...expression, terms: expression.terms.map(change) }
    case "product":
      return { ...expression, factors: expression.factors.map(change) }
    case "quotient":
      return { ...expression, numerator: change(expression.numerator), denominator: change(expression.denominator) }
    case "power":
      return { ...expression, base: change(expression.base), exponent: change(expression.exponent) }
    case "root":
      return { ...expression, radicand: change(expression.radicand), index: change(expression.index) }
    case "negation":
    case "percent":
    case "plus-minus":
      return { ...expression, operand: change(expression.operand) }
    case "function":
    case "opaque":
    case "relation":
      return { ...expression, operands: expression.operands.map(change) }
    case "set":
    case "tuple":
      return { ...expression, elements: expression.elements.map(change) }
    case "interval":
      return { ...expression, lower: change(expression.lower), upper: change(expression.upper) }
    case "combination":
      return { ...expression, left: change(expression.left), right: change(expression.right) }
    case "matrix":
      return { ...expression, rows: expression.rows.map((row) => row.map(change)) }
  }
}

/** Names of free symbols, in order of first appearance. */
export function freeSymbols(expression: Expression, bound: ReadonlySet<string> = new Set()): string[] {
  const names = new Set<string>()
  const visit = (part: Expression, hidden: ReadonlySet<string>): void => {
    if (part.kind === "symbol" && !hidden.has(part.name)) names.add(part.name)
    const inner = part.kind === "opaque" && part.bound.length > 0 ? new Set([...hidden, ...part.bound]) : hidden
    for (const operand of operandsOf(part)) visit(operand, inner)
  }
  visit(expression, bound)
  return [...names]
}

export function contains(expression: Expression, test: (part: Expression) => boolean): boolean {
  return test(expression) || operandsOf(expression).some((operand) => contains(operand, test))
}

const structureKinds: ReadonlySet<Expression["kind"]> = new Set([
  "set",
  "tuple",
  "interval",
  "combination",
  "named-set",
  "matrix",
  "relation",
])

/** Whether it is no single value: a set, a tuple, a matrix, a relation. */
export function isStructure(expression: Expression): boolean {
  return structureKinds.has(expression.kind)
}
