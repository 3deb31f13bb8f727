import type { Expression } from "../expression.ts"
import { integer } from "../numbers/rational.ts"
import { parseArguments } from "./arguments.ts"
import { parseExponent, startsOperand } from "./arithmetic.ts"
import { notAFormula, type Cursor } from "./cursor.ts"
import { listFunctions, plainFunctions } from "./vocabulary.ts"

const minusOne: Expression = { kind: "negation", operand: { kind: "number", value: integer(1), decimal: false } }

/** `\sin^2 x`, `\max(a, b)`, `\arctan\frac{1}{2}`: a named function with its argument. */
export function parseFunction(cursor: Cursor, name: string): Expression {
  const exponent = cursor.takeSymbol("^") ? parseExponent(cursor) : undefined
  if (listFunctions.has(name)) {
    const call: Expression = { kind: "function", name, operands: parseListArguments(cursor) }
    return exponent === undefined ? call : { kind: "power", base: call, exponent }
  }
  const operand = parseFunctionArgument(cursor)
  if (name === "det") return { kind: "opaque", name, operands: [operand], bound: [] }
  // `\sin^{-1} x` is the inverse function, not the reciprocal.
  if (exponent !== undefined && isMinusOne(exponent) && !name.startsWith("a")) {
    return { kind: "function", name: `arc${name}`, operands: [operand] }
  }
  const call: Expression = { kind: "function", name, operands: [operand] }
  return exponent === undefined ? call : { kind: "power", base: call, exponent }
}

function isMinusOne(expression: Expression): boolean {
  return (
    expression.kind === "negation" &&
    expression.operand.kind === "number" &&
    expression.operand.value.numerator === 1n &&
    expression.operand.value.denominator === 1n
  )
}

function parseListArguments(cursor: Cursor): readonly Expression[] {
  if (cursor.isSymbol("(")) return parseArguments(cursor)
  const content = cursor.grammar.primary(cursor)
  return content.kind === "set" ? content.elements : [content]
}

/** `\log_2 8`, `\log_{2}(512)`, `\lg 100`: the base is the second operand, `e` where none is written. */
export function parseLogarithm(cursor: Cursor, name: string): Expression {
  let base: Expression | undefined = name === "lg" ? { kind: "number", value: integer(10), decimal: false } : undefined
  let exponent: Expression | undefined
  for (;;) {
    if (cursor.takeSymbol("_")) base = parseExponent(cursor)
    else if (cursor.takeSymbol("^")) exponent = parseExponent(cursor)
    else break
  }
  const operand = parseFunctionArgument(cursor)
  const call: Expression = { kind: "function", name: "log", operands: base === undefined ? [operand] : [operand, base] }
  return exponent === undefined ? call : { kind: "power", base: call, exponent }
}

/** What a function is applied to: a bracket, or the factors up to the next function or sign. */
function parseFunctionArgument(cursor: Cursor): Expression {
  if (cursor.isSymbol("(") || cursor.isSymbol("{") || cursor.isSymbol("[")) {
    const group = cursor.grammar.primary(cursor)
    return cursor.isSymbol("!") ? applyFactorial(cursor, group) : group
  }
  const negative = cursor.takeSymbol("-")
  const factors: Expression[] = []
  while (startsOperand(cursor) && (factors.length === 0 || !startsFunction(cursor))) {
    // `\ln 2 (x+1)` and `\sin x (…)`: a bracket behind the argument is the next factor.
    if (factors.length > 0 && (cursor.isSymbol("(") || cursor.isSymbol("["))) break
    factors.push(cursor.grammar.postfix(cursor))
  }
  const [only] = factors
  if (only === undefined) throw notAFormula
  const product: Expression = factors.length === 1 ? only : { kind: "product", factors, implicit: false }
  return negative ? { kind: "negation", operand: product } : product
}

function applyFactorial(cursor: Cursor, operand: Expression): Expression {
  cursor.expectSymbol("!")
  return { kind: "function", name: "factorial", operands: [operand] }
}

function startsFunction(cursor: Cursor): boolean {
  const token = cursor.peek()
  return (
    (token?.type === "command" && (plainFunctions.has(token.name) || listFunctions.has(token.name))) ||
    (token?.type === "text" && plainFunctions.has(token.content.trim()))
  )
}

/** Sums, products, integrals and limits: their bounds, their variable and what they run over. */
export function parseBigOperator(cursor: Cursor, name: string): Expression {
  let lower: Expression | undefined
  let upper: Expression | undefined
  let variable: string | undefined
  for (;;) {
    if (cursor.takeSymbol("_")) {
      if (!cursor.takeSymbol("{")) lower = parseExponent(cursor)
      else {
        const token = cursor.peek()
        const binds = token?.type === "letter" && (cursor.isSymbol("=", 1) || isArrow(cursor, 1))
        if (binds) {
          variable = token.text
          cursor.position += 2
        }
        lower = cursor.enclosed(() => cursor.grammar.relation(cursor))
        if (cursor.takeSymbol("^")) parseExponent(cursor)
        cursor.takeSymbol("+")
        cursor.expectSymbol("}")
      }
    } else if (cursor.takeSymbol("^")) upper = parseExponent(cursor)
    else break
  }
  const isNew = variable !== undefined && !cursor.bound.has(variable)
  if (variable !== undefined) cursor.bound.add(variable)
  try {
    const body =
      name === "int" || name === "iint" || name === "oint" ? parseIntegrand(cursor) : parseFunctionBody(cursor)
    return {
      kind: "opaque",
      name,
      operands: [body, lower ?? minusOne, upper ?? minusOne],
      bound: variable === undefined ? [] : [variable],
    }
  } finally {
    if (isNew && variable !== undefined) cursor.bound.delete(variable)
  }
}

function isArrow(cursor: Cursor, offset: number): boolean {
  return ["to", "rightarrow", "longrightarrow"].some((name) => cursor.isCommand(name, offset))
}

/** The body of a sum: all factors and quotients up to the next sign of addition. */
function parseFunctionBody(cursor: Cursor): Expression {
  let body = parseFactors(cursor)
  while (cursor.takeCommand("cdot") || cursor.takeCommand("times") || cursor.takeSymbol("*")) {
    body = { kind: "product", factors: [body, parseFactors(cursor)], implicit: false }
  }
  return cursor.takeSymbol("/") ? { kind: "quotient", numerator: body, denominator: parseFactors(cursor) } : body
}

function parseFactors(cursor: Cursor): Expression {
  const factors: Expression[] = []
  const negative = cursor.takeSymbol("-")
  while (startsOperand(cursor)) factors.push(cursor.grammar.postfix(cursor))
  const [only] = factors
  if (only === undefined) throw notAFormula
  const product: Expression = factors.length === 1 ? only : { kind: "product", factors, implicit: false }
  return negative ? { kind: "negation", operand: product } : product
}

/** Everything up to the differential is under the integral; `d` and the variable stay as ordinary letters. */
function parseIntegrand(cursor: Cursor): Expression {
  return cursor.grammar.sum(cursor)
}
