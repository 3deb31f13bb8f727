import { contains, freeSymbols, isStructure, type Expression } from "../expression.ts"
import type { Budget } from "../numbers/budget.ts"
import { compare, toNumber } from "../numbers/rational.ts"
import { notDefined } from "./complex.ts"
import { Evaluation } from "./evaluate.ts"
import { exactValue } from "./exact.ts"

/** +1 or -1 for plus or minus infinity, else 0. */
export function infiniteSign(expression: Expression): -1 | 0 | 1 {
  if (expression.kind === "constant") return expression.name === "infinity" ? 1 : 0
  if (expression.kind !== "negation") return 0
  const sign = infiniteSign(expression.operand)
  return sign === 0 ? 0 : sign === 1 ? -1 : 1
}

/** The real value of an expression without symbols (infinite ones included); undefined if it has none. */
export function realValue(expression: Expression, budget: Budget): number | undefined {
  const sign = infiniteSign(expression)
  if (sign !== 0) return sign * Number.POSITIVE_INFINITY
  if (isStructure(expression)) return undefined
  const exact = exactValue(expression, budget)
  if (exact !== undefined) return toNumber(exact)
  if (freeSymbols(expression).length > 0 || contains(expression, isFormal)) return undefined
  const { re, im } = new Evaluation(() => notDefined, budget).value(expression)
  return Number.isNaN(re) || Math.abs(im) > 1e-12 * Math.max(1, Math.abs(re)) ? undefined : re
}

/** Parts whose value is only a stand-in. */
export function isFormal(expression: Expression): boolean {
  return expression.kind === "opaque" && expression.name !== "sum" && expression.name !== "prod"
}

/** Whether both are numbers and the first is less than the second. */
export function isRising(lower: Expression, upper: Expression, budget: Budget): boolean {
  const [low, high] = [exactValue(lower, budget), exactValue(upper, budget)]
  if (low !== undefined && high !== undefined) return compare(low, high) < 0
  const [from, to] = [realValue(lower, budget), realValue(upper, budget)]
  return from !== undefined && to !== undefined && from < to
}
