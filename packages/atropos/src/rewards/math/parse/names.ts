import { operandsOf, type Expression } from "../expression.ts"

/** Whether a left side only names something: symbols, functions, their products, quotients, absolute values, tuples. */
export function isAssignable(expression: Expression): boolean {
  const { kind } = expression
  if (kind === "symbol" || kind === "named-set") return true
  if (kind === "constant") return expression.name === "e" || expression.name === "i"
  if (kind === "opaque") return !computed.has(expression.name)
  if (kind === "function" && expression.name !== "abs") return false
  const isNamed = kind === "product" || kind === "quotient" || kind === "tuple" || kind === "function"
  return isNamed && operandsOf(expression).every(isAssignable)
}

const computed = new Set(["sum", "prod", "int", "iint", "oint", "lim", "cases"])

/** The letters of a product in the order they were written, as one word; undefined for anything else. */
export function spelledWord(expression: Expression): string | undefined {
  if (expression.kind === "symbol") return expression.name
  if (expression.kind === "constant" && expression.name !== "infinity") return expression.name
  if (expression.kind !== "product" || !expression.implicit) return undefined
  let word = ""
  for (const factor of expression.factors) {
    const part = spelledWord(factor)
    if (part === undefined) return undefined
    word += part
  }
  return word
}
