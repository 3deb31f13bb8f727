import type { Expression, RelationOperator } from "../expression.ts"
import type { Rational } from "../numbers/rational.ts"
import { notAFormula, type Cursor } from "./cursor.ts"
import { isAssignable } from "./names.ts"
import { startsElement } from "./primary.ts"

/** A list: `;` between tuples, `,` between values. One value stands for itself, several are a set. */
export function parseList(cursor: Cursor): Expression {
  const parts: Expression[][] = [[]]
  let separated = false
  for (;;) {
    if (startsElement(cursor)) parts.at(-1)?.push(parseRelation(cursor))
    else if (["ldots", "dots", "cdots", "dotsc"].some((name) => cursor.takeCommand(name))) continue
    if (cursor.takeSymbol(",")) continue
    if (!cursor.takeSymbol(";")) break
    separated = true
    parts.push([])
  }
  const filled = parts.filter((part) => part.length > 0)
  if (filled.length === 0) throw notAFormula
  if (!separated || filled.length === 1) return listOf(filled[0] ?? [])
  return {
    kind: "set",
    elements: filled.map((part): Expression => {
      const [only] = part
      return part.length === 1 && only !== undefined ? only : { kind: "tuple", elements: part.map(lastSide) }
    }),
  }
}

/** `p=5, q=2` inside a tuple are its values. */
function lastSide(expression: Expression): Expression {
  if (expression.kind !== "relation" || expression.operators.some((operator) => operator !== "=")) return expression
  return expression.operands.at(-1) ?? expression
}

function listOf(all: readonly Expression[]): Expression {
  // `x = k\pi, k \in \mathbb{Z}`: what a letter runs over is understood.
  const stated = all.filter((element) => !isDomain(element))
  const elements = stated.length === 0 ? all : stated
  const [first, ...rest] = elements
  if (first === undefined) throw notAFormula
  if (rest.length === 0) return first
  // `n = 1, 2, 3` says that n is one of three values.
  if (first.kind === "relation" && first.operators.every((operator) => operator === "=")) {
    if (rest.every((element) => element.kind !== "relation") && !isTuple(lastSide(first))) {
      return {
        ...first,
        operands: [...first.operands.slice(0, -1), { kind: "set", elements: [lastSide(first), ...rest] }],
      }
    }
  }
  return { kind: "set", elements }
}

function isDomain(expression: Expression): boolean {
  if (expression.kind !== "relation") return false
  return expression.operands[0]?.kind === "symbol" && expression.operands.at(-1)?.kind === "named-set"
}

function isTuple(expression: Expression): boolean {
  return expression.kind === "tuple" || expression.kind === "interval"
}

const symbolRelations: Readonly<Record<string, RelationOperator>> = {
  "=": "=",
  "==": "=",
  ":=": "=",
  "!=": "!=",
  "<": "<",
  "<=": "<=",
  "=<": "<=",
  ">": ">",
  ">=": ">=",
}

const commandRelations: Readonly<Record<string, RelationOperator>> = {
  equiv: "=",
  in: "=",
  ne: "!=",
  neq: "!=",
  lt: "<",
  le: "<=",
  leq: "<=",
  leqslant: "<=",
  gt: ">",
  ge: ">=",
  geq: ">=",
  geqslant: ">=",
}

const approximations = ["approx", "sim", "simeq", "cong"]

/** One relation or a chain of them, or just a value. What is only approximately equal is left out. */
export function parseRelation(cursor: Cursor): Expression {
  const operands = [parseCombination(cursor)]
  const operators: RelationOperator[] = []
  for (;;) {
    if (approximations.some((name) => cursor.takeCommand(name))) {
      const rounded = parseCombination(cursor)
      const [only] = operands
      // `x \approx 11` has no other value to offer.
      if (operands.length === 1 && only !== undefined && isAssignable(only)) return rounded
      continue
    }
    const operator = takeRelation(cursor)
    if (operator === undefined) break
    operators.push(operator)
    operands.push(parseCombination(cursor))
  }
  const [only] = operands
  return operators.length === 0 && only !== undefined ? only : { kind: "relation", operators, operands }
}

function takeRelation(cursor: Cursor): RelationOperator | undefined {
  const token = cursor.peek()
  if (token === undefined) return undefined
  let operator: RelationOperator | undefined
  if (token.type === "symbol") operator = symbolRelations[token.text]
  else if (token.type === "command") operator = commandRelations[token.name]
  if (operator !== undefined) {
    cursor.position++
    // Lines of a derivation: `a &= b`.
    cursor.takeSymbol("&")
    return operator
  }
  if (cursor.isCommand("not") && cursor.isSymbol("=", 1)) {
    cursor.position += 2
    return "!="
  }
  return undefined
}

/** Unions, intersections and differences of sets. */
function parseCombination(cursor: Cursor): Expression {
  let left = parseIntersection(cursor)
  for (;;) {
    if (cursor.takeCommand("cup")) {
      left = { kind: "combination", operator: "union", left, right: asInterval(parseIntersection(cursor)) }
    } else if (cursor.takeCommand("setminus") || cursor.takeCommand("backslash")) {
      left = { kind: "combination", operator: "difference", left, right: asInterval(parseIntersection(cursor)) }
    } else return left
  }
}

function parseIntersection(cursor: Cursor): Expression {
  let left = cursor.grammar.sum(cursor)
  if (["cup", "cap", "setminus"].some((name) => cursor.isCommand(name))) left = asInterval(left)
  while (cursor.takeCommand("cap")) {
    left = { kind: "combination", operator: "intersection", left, right: asInterval(cursor.grammar.sum(cursor)) }
  }
  return left
}

/** `(12,102)` beside a union is an interval, not a number with a thousands separator. */
function asInterval(expression: Expression): Expression {
  if (expression.kind !== "number" || expression.parenthesised !== true) return expression
  const [lower, upper, ...more] = expression.groups ?? []
  if (lower === undefined || upper === undefined || more.length > 0) return expression
  const end = (value: Rational): Expression => ({ kind: "number", value, decimal: false })
  return { kind: "interval", lower: end(lower), upper: end(upper), lowerOpen: true, upperOpen: true }
}
