import { freeSymbols, type Expression, type RelationOperator } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { isAssignable } from "../parse/names.ts"
import { complex } from "./complex.ts"
import { Evaluation, hashText } from "./evaluate.ts"
import { proportion } from "./scalars.ts"
import { membership, type RealSet } from "./real-sets.ts"

export type Relation = Extract<Expression, { kind: "relation" }>

export function isEquation(expression: Expression): expression is Relation {
  return expression.kind === "relation" && expression.operators.every((operator) => operator === "=")
}

/** `x = …`, `f(x) = …`: an equation whose left side only names something. */
export function isAssignment(expression: Expression): expression is Relation {
  const [first] = expression.kind === "relation" ? expression.operands : []
  return isEquation(expression) && first !== undefined && isAssignable(first)
}

export function firstSide(relation: Relation): Expression {
  return relation.operands[0] ?? relation
}

export function lastSide(relation: Relation): Expression {
  return relation.operands.at(-1) ?? relation
}

/** A chain of assignments says that the first side is the last. */
export function shortenAssignment(relation: Relation): Relation {
  if (relation.operands.length === 2) return relation
  return { kind: "relation", operators: ["="], operands: [firstSide(relation), lastSide(relation)] }
}

const turned: Readonly<Record<RelationOperator, RelationOperator>> = {
  "=": "=",
  "!=": "!=",
  "<": ">",
  "<=": ">=",
  ">": "<",
  ">=": "<=",
}

/** Whether two relations, or two chains link by link, say the same. */
export function relationsEqual(
  gold: Relation,
  answer: Relation,
  sidesEqual: (gold: Expression, answer: Expression) => boolean,
  budget: Budget,
): boolean {
  if (gold.operators.length !== answer.operators.length) return false
  return chainsEqual(gold, answer, sidesEqual, budget) || chainsEqual(gold, reversed(answer), sidesEqual, budget)
}

function reversed(relation: Relation): Relation {
  return {
    kind: "relation",
    operators: relation.operators.toReversed().map((operator) => turned[operator]),
    operands: relation.operands.toReversed(),
  }
}

function chainsEqual(
  gold: Relation,
  answer: Relation,
  sidesEqual: (gold: Expression, answer: Expression) => boolean,
  budget: Budget,
): boolean {
  return gold.operators.every((operator, index) => {
    const [left, right] = [gold.operands[index], gold.operands[index + 1]]
    const [otherLeft, otherRight] = [answer.operands[index], answer.operands[index + 1]]
    const otherOperator = answer.operators[index]
    if (!left || !right || !otherLeft || !otherRight || !otherOperator) return false
    if (operator === otherOperator && sidesEqual(left, otherLeft) && sidesEqual(right, otherRight)) return true
    return linksEqual(
      { left, operator, right },
      { left: otherLeft, operator: otherOperator, right: otherRight },
      budget,
    )
  })
}

interface Link {
  left: Expression
  operator: RelationOperator
  right: Expression
}

/** The differences of the sides are proportional; a negative factor turns the sign. */
function linksEqual(gold: Link, answer: Link, budget: Budget): boolean {
  const isScalar = (part: Expression): boolean =>
    part.kind !== "set" && part.kind !== "tuple" && part.kind !== "interval"
  if (![gold.left, gold.right, answer.left, answer.right].every(isScalar)) return false
  const sign = proportion(difference(gold), difference(answer), budget)
  if (sign === undefined) return false
  return answer.operator === (sign === 1 ? gold.operator : turned[gold.operator])
}

function difference(link: Link): Expression {
  return { kind: "sum", terms: [link.left, { kind: "negation", operand: link.right }] }
}

/**
 * Whether relations in one unknown (a symbol, or one function such as `f(x)`) hold exactly on a set of real numbers:
 * tried at the set's borders, right beside them, and at many points between and beyond. Of several relations all have
 * to hold, or any: which of the two was meant is not always said.
 */
export function holdExactlyOn(relations: readonly Relation[], set: RealSet, budget: Budget): boolean {
  const unknowns = relations.map(soleUnknown)
  const known = unknowns.filter((unknown) => unknown !== undefined)
  if (known.length < relations.length) return false
  const points = pointsOf(set)
  const truth = points.map((point) =>
    relations.map((relation, index) => relationHolds(relation, known[index] ?? (() => false), point, budget)),
  )
  const matches = (combine: (holds: readonly boolean[]) => boolean): boolean =>
    points.every((point, index) => combine(truth[index] ?? []) === membership(set, point))
  return matches((holds) => holds.every(Boolean)) || matches((holds) => holds.some(Boolean))
}

function pointsOf({ borders }: RealSet): number[] {
  const points = [...borders, ...borders.flatMap((border) => besides(border))]
  const low = Math.min(0, ...borders) - 10
  const high = Math.max(0, ...borders) + 10
  for (let index = 0; index < 60; index++) points.push(low + (high - low) * hashText(`point ${index}`))
  return [...points, low * 997.3, high * 1013.7]
}

function besides(border: number): number[] {
  const step = 1e-4 * Math.max(1, Math.abs(border))
  return [border - step, border + step, border - 100 * step, border + 100 * step]
}

/** The one symbol or opaque function value that a relation is about. */
function soleUnknown(relation: Relation): ((part: Expression) => boolean) | undefined {
  const names = freeSymbols(relation)
  const side = relation.operands.find((part) => part.kind === "opaque" || freeSymbols(part).length > 0)
  if (side?.kind === "opaque") {
    const { name } = side
    const others = relation.operands.filter((part) => part !== side)
    return others.every((part) => freeSymbols(part).length === 0)
      ? (part) => part.kind === "opaque" && part.name === name
      : undefined
  }
  const [only] = names
  return names.length === 1 ? (part) => part.kind === "symbol" && part.name === only : undefined
}

function relationHolds(
  relation: Relation,
  isUnknown: (part: Expression) => boolean,
  point: number,
  budget: Budget,
): boolean {
  const values = relation.operands.map((operand) =>
    isUnknown(operand) ? complex(point) : new Evaluation(() => complex(point), budget).value(operand),
  )
  return relation.operators.every((operator, index) => {
    const [a, b] = [values[index], values[index + 1]]
    if (a === undefined || b === undefined) return false
    const sizes = [Math.abs(a.re), Math.abs(b.re)].filter(Number.isFinite)
    const tolerance = 1e-9 * Math.max(1, ...sizes)
    // Outside the domain of a side nothing holds.
    if (Number.isNaN(a.re) || Number.isNaN(b.re) || Math.abs(a.im) > tolerance || Math.abs(b.im) > tolerance)
      return false
    const gap = a.re === b.re ? 0 : a.re - b.re
    const same = Math.abs(gap) <= tolerance
    switch (operator) {
      case "=":
        return same
      case "!=":
        return !same
      case "<":
        return !same && gap < 0
      case "<=":
        return same || gap < 0
      case ">":
        return !same && gap > 0
      case ">=":
        return same || gap > 0
    }
  })
}
