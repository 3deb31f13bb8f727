import type { Expression, NumberLiteral } from "../expression.ts"
import { add, compare, divide, integer } from "../numbers/rational.ts"
import { notAFormula, type Cursor } from "./cursor.ts"
import { combineMatrices } from "./matrices.ts"
import { skipUnit } from "./units.ts"

/** Terms joined by plus, minus and plus-minus. */
export function parseSum(cursor: Cursor): Expression {
  cursor.enter()
  const first = parseProduct(cursor)
  const terms = [first]
  for (;;) {
    if (cursor.takeSymbol("+")) terms.push(parseProduct(cursor))
    else if (cursor.takeSymbol("-")) terms.push({ kind: "negation", operand: parseProduct(cursor) })
    else if (cursor.takeCommand("pm")) terms.push(plusMinus(parseProduct(cursor), false))
    else if (cursor.takeCommand("mp")) terms.push(plusMinus(parseProduct(cursor), true))
    else break
  }
  cursor.leave()
  return terms.length === 1 ? first : combineMatrices({ kind: "sum", terms })
}

function plusMinus(operand: Expression, minusFirst: boolean): Expression {
  return { kind: "plus-minus", operand, minusFirst }
}

/** Factors joined by signs of multiplication, division or ratio; juxtaposed ones bind tighter. */
function parseProduct(cursor: Cursor): Expression {
  let left = parseUnary(cursor)
  for (;;) {
    if (takesMultiplication(cursor)) {
      const right = parseUnary(cursor)
      left = combineMatrices(
        left.kind === "product" && !left.implicit
          ? { kind: "product", factors: [...left.factors, right], implicit: false }
          : { kind: "product", factors: [left, right], implicit: false },
      )
    } else if (cursor.takeSymbol("/") || cursor.takeCommand("div") || cursor.takeCommand("over")) {
      left = { kind: "quotient", numerator: left, denominator: parseUnary(cursor) }
    } else if (!cursor.colonSeparates && (cursor.isSymbol(":") || cursor.isCommand("colon"))) {
      left = parseRatio(cursor, left)
    } else if (cursor.takeCommand("mod") || cursor.takeCommand("bmod")) {
      left = { kind: "function", name: "mod", operands: [left, parseUnary(cursor)] }
    } else if (cursor.isCommand("pmod")) {
      // `9 \pmod{11}` is an answer of 9: the modulus belongs to the question.
      cursor.position++
      cursor.grammar.primary(cursor)
    } else return left
  }
}

function takesMultiplication(cursor: Cursor): boolean {
  return (
    cursor.takeSymbol("*") || cursor.takeCommand("cdot") || cursor.takeCommand("times") || cursor.takeCommand("ast")
  )
}

/** `a:b` is a quotient; `a:b:c` is compared by the quotients to the first part. */
function parseRatio(cursor: Cursor, first: Expression): Expression {
  const parts = [first]
  while (cursor.takeSymbol(":") || cursor.takeCommand("colon")) parts.push(parseUnary(cursor))
  const [, second] = parts
  if (parts.length === 2 && second !== undefined) return { kind: "quotient", numerator: first, denominator: second }
  const operands = parts.slice(1).map((part): Expression => ({ kind: "quotient", numerator: part, denominator: first }))
  return { kind: "opaque", name: "ratio", operands, bound: [] }
}

function parseUnary(cursor: Cursor): Expression {
  let negative = false
  for (;;) {
    if (cursor.takeSymbol("-")) negative = !negative
    else if (!cursor.takeSymbol("+")) break
  }
  if (cursor.takeCommand("pm")) return plusMinus(parseUnary(cursor), false)
  if (cursor.takeCommand("mp")) return plusMinus(parseUnary(cursor), true)
  const operand = parseJuxtaposed(cursor)
  return negative ? combineMatrices({ kind: "negation", operand }) : operand
}

/** Operands written side by side: a product, or a mixed number. */
function parseJuxtaposed(cursor: Cursor): Expression {
  const factors = [cursor.grammar.postfix(cursor)]
  for (;;) {
    const last = factors.at(-1)
    if (last === undefined) throw notAFormula
    if (cursor.units && skipUnit(cursor, last)) continue
    const mixed = factors.length === 1 ? takeMixedFraction(cursor, last) : undefined
    if (mixed !== undefined) {
      factors[0] = mixed
      continue
    }
    if (!startsOperand(cursor)) break
    if (last.kind === "number" && cursor.peek()?.type === "number") throw notAFormula
    factors.push(cursor.grammar.postfix(cursor))
  }
  const [only] = factors
  return factors.length === 1 && only !== undefined
    ? only
    : combineMatrices({ kind: "product", factors, implicit: true })
}

const operandCommands = new Set(
  (
    "frac dfrac tfrac cfrac binom dbinom tbinom sqrt infty pi langle lfloor lceil lvert lVert { lbrace lbrack lparen sum prod " +
    "int iint oint lim det"
  ).split(" "),
)
const noOperandCommands = new Set(
  (
    "cdot times ast div pm mp over choose le leq leqslant ge geq geqslant lt gt ne neq approx sim simeq cong equiv in notin " +
    "cup cap setminus backslash rangle rfloor rceil rvert vert rVert Vert | mid colon mod pmod bmod } rbrace rbrack rparen to " +
    "rightarrow longrightarrow ldots dots cdots dotsc dotsb vdots not % # & _ - \\ circ degree prime top dotsm"
  ).split(" "),
)

/** Whether the next token begins another factor of an implicit product. */
export function startsOperand(cursor: Cursor): boolean {
  const token = cursor.peek()
  if (token === undefined) return false
  switch (token.type) {
    case "number":
    case "letter":
    case "text":
    case "begin":
      return true
    case "command":
      return operandCommands.has(token.name) || !noOperandCommands.has(token.name)
    case "symbol":
      return (
        token.text === "(" || token.text === "[" || token.text === "{" || (token.text === "|" && cursor.openBars === 0)
      )
    case "end":
      return false
  }
}

/** `3\frac{3}{4}` and `3 3/4`: a whole number directly before a proper fraction of whole numbers. */
function takeMixedFraction(cursor: Cursor, whole: Expression): Expression | undefined {
  if (!isWhole(whole)) return undefined
  const token = cursor.peek()
  const slash = token?.type === "number" && token.integer && token.spaced && cursor.isSymbol("/", 1)
  if (!slash && !(token?.type === "command" && /^[dtc]?frac$/.test(token.name))) return undefined
  return cursor.attempt(() => {
    const part = slash ? parseSlashFraction(cursor) : cursor.grammar.primary(cursor)
    if (part.kind !== "quotient" || !isWhole(part.numerator) || !isWhole(part.denominator)) throw notAFormula
    if (compare(part.numerator.value, part.denominator.value) >= 0) throw notAFormula
    const value = divide(part.numerator.value, part.denominator.value)
    if (value === undefined) throw notAFormula
    return parseMarks(cursor, { kind: "number", value: add(whole.value, value), decimal: false })
  })
}

function parseSlashFraction(cursor: Cursor): Expression {
  const numerator = cursor.grammar.primary(cursor)
  cursor.expectSymbol("/")
  if (cursor.peek()?.type !== "number") throw notAFormula
  return { kind: "quotient", numerator, denominator: cursor.grammar.primary(cursor) }
}

function isWhole(expression: Expression): expression is NumberLiteral {
  return (
    expression.kind === "number" &&
    !expression.decimal &&
    expression.value.denominator === 1n &&
    expression.value.numerator >= 0n
  )
}

/** Powers, factorials, percent signs, degrees and primes behind an operand. */
export function parsePostfix(cursor: Cursor): Expression {
  return parseMarks(cursor, cursor.grammar.primary(cursor))
}

function parseMarks(cursor: Cursor, operand: Expression): Expression {
  let base = operand
  for (;;) {
    if (cursor.takeSymbol("^")) base = applyExponent(cursor, base)
    else if (cursor.isSymbol("!") && !cursor.isSymbol("=", 1)) {
      cursor.position++
      base = { kind: "function", name: "factorial", operands: [base] }
    } else if (cursor.takeSymbol("%") || cursor.takeCommand("%")) base = { kind: "percent", operand: base }
    else if (cursor.takeCommand("circ") || cursor.takeCommand("degree")) skipTemperature(cursor)
    else if (cursor.takeSymbol("'") || cursor.takeCommand("prime")) {
      base = { kind: "opaque", name: "derivative", operands: [base], bound: [] }
    } else return base
  }
}

function applyExponent(cursor: Cursor, base: Expression): Expression {
  if (takeDegree(cursor)) {
    skipTemperature(cursor)
    return base
  }
  if (base.kind === "matrix" && takeTransposition(cursor)) {
    const width = base.rows[0]?.length ?? 0
    const { rows } = base
    return {
      kind: "matrix",
      rows: Array.from({ length: width }, (_, column) => rows.map((row) => row[column] ?? zeroNumber)),
    }
  }
  return { kind: "power", base, exponent: parseExponent(cursor) }
}

const zeroNumber: Expression = { kind: "number", value: integer(0), decimal: false }

function takeDegree(cursor: Cursor): boolean {
  if (cursor.takeCommand("circ") || cursor.takeCommand("degree")) return true
  if (
    cursor.isSymbol("{") &&
    (cursor.isCommand("circ", 1) || cursor.isCommand("degree", 1)) &&
    cursor.isSymbol("}", 2)
  ) {
    cursor.position += 3
    return true
  }
  return false
}

/** The scale in `20^\circ C`. */
function skipTemperature(cursor: Cursor): void {
  const token = cursor.peek()
  const isScale = token?.type === "letter" && /^[CFK]$/.test(token.run ?? "")
  const isTextScale = token?.type === "text" && /^\s*[CFK]\s*$/.test(token.content)
  if (isScale || isTextScale) cursor.position++
}

function takeTransposition(cursor: Cursor): boolean {
  const isMark = (offset: number): boolean => {
    const token = cursor.peek(offset)
    return (
      (token?.type === "letter" && token.text === "T") ||
      (token?.type === "text" && token.content === "T") ||
      cursor.isCommand("top", offset)
    )
  }
  if (isMark(0)) cursor.position += 1
  else if (cursor.isSymbol("{") && isMark(1) && cursor.isSymbol("}", 2)) cursor.position += 3
  else return false
  return true
}

/** What stands behind `^`: a group, or one token (a number counts as one). */
export function parseExponent(cursor: Cursor): Expression {
  if (cursor.takeSymbol("{")) {
    const exponent = cursor.enclosed(() => cursor.grammar.sum(cursor))
    cursor.expectSymbol("}")
    return exponent
  }
  if (cursor.takeSymbol("-")) return { kind: "negation", operand: parseExponent(cursor) }
  if (cursor.isSymbol("(") && !cursor.repair) throw notAFormula
  return cursor.grammar.primary(cursor)
}
