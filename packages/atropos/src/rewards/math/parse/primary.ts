import { isRising } from "../compare/values.ts"
import type { Expression } from "../expression.ts"
import { integer, type Rational } from "../numbers/rational.ts"
import { parseArgument, parseArguments, takeSubscript } from "./arguments.ts"
import { parseExponent, startsOperand } from "./arithmetic.ts"
import { notAFormula, type Cursor } from "./cursor.ts"
import { parseFunction, parseBigOperator, parseLogarithm } from "./functions.ts"
import { parseEnvironment } from "./matrices.ts"
import { accentCommands, listFunctions, plainFunctions, styleCommands, symbolCommands } from "./vocabulary.ts"

/** One operand without what follows it: a number, a name, a function call, anything in brackets. */
export function parsePrimary(cursor: Cursor): Expression {
  cursor.enter()
  const expression = readPrimary(cursor)
  cursor.leave()
  return expression
}

function readPrimary(cursor: Cursor): Expression {
  const token = cursor.next()
  switch (token.type) {
    case "number": {
      skipNumberBase(cursor)
      const { value, decimal, groups } = token
      return groups === undefined ? { kind: "number", value, decimal } : { kind: "number", value, decimal, groups }
    }
    case "letter":
      return parseName(cursor, token.text)
    case "text":
      return parseText(cursor, token.content)
    case "begin":
      return parseEnvironment(cursor, token.name)
    case "command":
      return parseCommand(cursor, token.name)
    case "symbol":
      return parseBracketed(cursor, token.text)
    case "end":
      throw notAFormula
  }
}

/** `204_5`: the base is left out, two numbers in one base are told apart by their digits. */
function skipNumberBase(cursor: Cursor): void {
  if (!cursor.isSymbol("_")) return
  const start = cursor.position
  const isNumber = (offset: number): boolean => cursor.peek(offset)?.type === "number"
  if (isNumber(1)) cursor.position += 2
  else if (cursor.isSymbol("{", 1) && isNumber(2) && cursor.isSymbol("}", 3)) cursor.position += 4
  else cursor.position = start
}

const opaqueFunctions = new Set(["f", "g", "h"])

/** A letter with its subscript; `e` and `i` are the constants; `f(x)` is a function. */
function parseName(cursor: Cursor, letter: string): Expression {
  const subscript = takeSubscript(cursor)
  const name = subscript === undefined ? letter : `${letter}_${subscript}`
  if (subscript === undefined && !cursor.bound.has(letter)) {
    if (letter === "e") return { kind: "constant", name: "e" }
    if (letter === "i") return { kind: "constant", name: "i" }
  }
  if (opaqueFunctions.has(letter) || isCallWithList(cursor)) {
    const call = cursor.attempt(() => parseCall(cursor, name))
    if (call !== undefined) return call
  }
  return { kind: "symbol", name }
}

const argumentSymbols = new Set([",", "=", "<", ">", "<=", ">=", "!=", "|"])
const argumentCommands = new Set(["mid", "le", "leq", "ge", "geq", "lt", "gt", "ne", "neq", "in"])

/** Whether `(a, b)`, `(X = 1)` or `(A \mid B)` follows: a name in front of such a bracket is a function of it. */
function isCallWithList(cursor: Cursor): boolean {
  if (!cursor.isSymbol("(") || cursor.peek()?.spaced === true) return false
  let depth = 0
  for (let offset = 0; ; offset++) {
    const token = cursor.peek(offset)
    if (token === undefined) return false
    if (token.type === "command" && depth === 1 && argumentCommands.has(token.name)) return true
    if (token.type !== "symbol") continue
    if ("([{".includes(token.text)) depth++
    else if (")]}".includes(token.text) && --depth === 0) return false
    else if (depth === 1 && argumentSymbols.has(token.text)) return true
  }
}

function parseCall(cursor: Cursor, name: string): Expression {
  let called = name
  while (cursor.takeSymbol("'")) called += "'"
  const exponent = cursor.takeSymbol("^") ? parseExponent(cursor) : undefined
  const operands = parseArguments(cursor)
  if (exponent?.kind === "negation") {
    return { kind: "opaque", name: `${called} inverse`, operands: [...operands, exponent], bound: [] }
  }
  const call: Expression = { kind: "opaque", name: called, operands, bound: [] }
  return exponent === undefined ? call : { kind: "power", base: call, exponent }
}

/** Words: a function's name, a constant, a number in another dress, or a name of several letters. */
function parseText(cursor: Cursor, content: string): Expression {
  const trimmed = content.trim()
  if (trimmed.startsWith("\\mathbb")) return { kind: "named-set", name: trimmed.slice("\\mathbb".length).trim() }
  if (plainFunctions.has(trimmed) || listFunctions.has(trimmed)) return parseFunction(cursor, trimmed)
  if (trimmed === "e" || trimmed === "i") return { kind: "constant", name: trimmed }
  if (/^\s*[-+$(]*\.?\d/.test(content)) {
    const value = cursor.attempt(() => cursor.grammar.inner(content, cursor))
    if (value !== undefined) return value
  }
  const word = normaliseWord(trimmed)
  if (word === "") throw notAFormula
  const subscript = takeSubscript(cursor)
  return { kind: "symbol", name: subscript === undefined ? word : `${word}_${subscript}` }
}

/** One letter keeps its case; words are compared without case, spaces and punctuation. */
export function normaliseWord(text: string): string {
  const bare = text.replaceAll(/[\s()[\]{}.,:;!?"'`*$~\\]/g, "")
  return bare.length === 1 ? bare : bare.toLowerCase()
}

function parseCommand(cursor: Cursor, name: string): Expression {
  if (/^[dtc]?frac$/.test(name)) {
    const numerator = parseArgument(cursor)
    return { kind: "quotient", numerator, denominator: parseArgument(cursor) }
  }
  if (/^[dt]?binom$/.test(name)) {
    return { kind: "function", name: "binomial", operands: [parseArgument(cursor), parseArgument(cursor)] }
  }
  if (name === "sqrt") return parseRoot(cursor)
  if (name === "log" || name === "lg") return parseLogarithm(cursor, name)
  if (plainFunctions.has(name) || listFunctions.has(name) || name === "det") return parseFunction(cursor, name)
  if (["sum", "prod", "int", "iint", "oint", "lim", "bigcup", "bigcap"].includes(name))
    return parseBigOperator(cursor, name)
  if (styleCommands.has(name)) return parseArgument(cursor)
  if (accentCommands.has(name)) return parseAccent(cursor, name)
  if (name === "pi") return { kind: "constant", name: "pi" }
  if (name === "infty") return { kind: "constant", name: "infinity" }
  if (name === "emptyset" || name === "varnothing") return { kind: "set", elements: [] }
  if (symbolCommands.has(name)) return parseSymbolCommand(cursor, name)
  return parseBracketed(cursor, `\\${name}`)
}

/** `\angle ABC` and `\triangle ABC` are one name with what follows. */
function parseSymbolCommand(cursor: Cursor, name: string): Expression {
  let full = `\\${name}`
  if (name === "angle" || name === "triangle" || name === "measuredangle") {
    for (;;) {
      const token = cursor.peek()
      if (token?.type !== "letter") break
      full += token.text
      cursor.position++
    }
  }
  const subscript = takeSubscript(cursor)
  const named = subscript === undefined ? full : `${full}_${subscript}`
  const call = isCallWithList(cursor) ? cursor.attempt(() => parseCall(cursor, named)) : undefined
  return call ?? { kind: "symbol", name: named }
}

function parseRoot(cursor: Cursor): Expression {
  let index: Expression = { kind: "number", value: integer(2), decimal: false }
  if (cursor.takeSymbol("[")) {
    index = cursor.enclosed(() => cursor.grammar.sum(cursor))
    cursor.expectSymbol("]")
  }
  return { kind: "root", radicand: parseArgument(cursor), index }
}

/** `\overline{AB}`, `\vec{v}`: a name of its own. */
function parseAccent(cursor: Cursor, accent: string): Expression {
  if (accent === "overset") parseArgument(cursor)
  const start = cursor.position
  parseArgument(cursor)
  let name = `\\${accent} `
  for (const token of cursor.tokens.slice(start, cursor.position)) {
    if (token.type === "letter") name += token.text
    else if (token.type === "number") name += String(token.value.numerator)
    else if (token.type === "command") name += `\\${token.name} `
    else if (token.type === "text") name += token.content
    else if (token.type === "symbol" && token.text !== "{" && token.text !== "}") name += token.text
  }
  const subscript = takeSubscript(cursor)
  return { kind: "symbol", name: subscript === undefined ? name : `${name}_${subscript}` }
}

/** Everything between a pair of delimiters. */
function parseBracketed(cursor: Cursor, opening: string): Expression {
  switch (opening) {
    case "(":
    case "\\lparen":
    case "[":
    case "\\lbrack":
      return parseParenthesised(cursor, opening === "(" || opening === "\\lparen" ? "(" : "[")
    case "{":
      return parseBraces(cursor)
    case "\\{":
    case "\\lbrace":
      return parseSetBraces(cursor)
    case "|":
    case "\\vert":
    case "\\lvert":
    case "\\|":
    case "\\Vert":
    case "\\lVert":
      return parseBars(cursor, opening)
    case "\\lfloor":
      return parseDelimited(cursor, "rfloor", "floor")
    case "\\lceil":
      return parseDelimited(cursor, "rceil", "ceil")
    case "\\langle": {
      const elements = cursor.enclosed(() => parseElements(cursor))
      if (!cursor.takeCommand("rangle")) throw notAFormula
      return { kind: "tuple", elements }
    }
    default:
      throw notAFormula
  }
}

function parseDelimited(cursor: Cursor, closing: string, name: string): Expression {
  const operand = cursor.enclosed(() => cursor.grammar.sum(cursor))
  if (!cursor.takeCommand(closing)) throw notAFormula
  return { kind: "function", name, operands: [operand] }
}

const closingBars: Readonly<Record<string, string>> = {
  "\\vert": "vert",
  "\\lvert": "rvert",
  "\\|": "|",
  "\\Vert": "Vert",
  "\\lVert": "rVert",
}

function parseBars(cursor: Cursor, opening: string): Expression {
  const isNorm = opening === "\\|" || opening.endsWith("Vert")
  cursor.openBars++
  const operand = cursor.grammar.sum(cursor)
  cursor.openBars--
  const closing = closingBars[opening]
  if (closing === undefined) cursor.expectSymbol("|")
  else if (!cursor.takeCommand(closing)) throw notAFormula
  return isNorm
    ? { kind: "opaque", name: "norm", operands: [operand], bound: [] }
    : { kind: "function", name: "abs", operands: [operand] }
}

/** Plain braces group; `{n \choose k}` is a binomial and `{1, 2}` a set. */
function parseBraces(cursor: Cursor): Expression {
  if (cursor.takeSymbol("}")) throw notAFormula
  const content = cursor.enclosed(() => cursor.grammar.list(cursor))
  if (cursor.takeCommand("choose")) {
    const lower = cursor.enclosed(() => cursor.grammar.sum(cursor))
    cursor.expectSymbol("}")
    return { kind: "function", name: "binomial", operands: [content, lower] }
  }
  cursor.expectSymbol("}")
  return content
}

/** `\{…\}`: a set of what is listed; `\{x \mid condition\}` is what its condition says. */
function parseSetBraces(cursor: Cursor): Expression {
  const close = (): boolean => cursor.takeCommand("}") || cursor.takeCommand("rbrace")
  if (close()) return { kind: "set", elements: [] }
  return cursor.enclosed(() => {
    const builder = cursor.attempt(() => {
      cursor.openBars = 1
      cursor.colonSeparates = true
      const subject = cursor.grammar.relation(cursor)
      cursor.colonSeparates = false
      if (!cursor.takeCommand("mid") && !cursor.takeSymbol("|") && !cursor.takeSymbol(":")) throw notAFormula
      cursor.openBars = 0
      const condition = cursor.grammar.list(cursor)
      if (!close()) throw notAFormula
      return subject.kind === "symbol" || subject.kind === "relation"
        ? condition
        : ({ kind: "opaque", name: "set-builder", operands: [subject, condition], bound: [] } as const)
    })
    if (builder !== undefined) return builder
    cursor.colonSeparates = false
    cursor.openBars = 0
    const elements = parseElements(cursor)
    if (!close()) throw notAFormula
    return { kind: "set", elements }
  })
}

/** Elements between commas; empty places (a comma before a bracket, dots left out) do not count. */
export function parseElements(cursor: Cursor): Expression[] {
  const elements: Expression[] = []
  for (;;) {
    if (startsElement(cursor)) elements.push(cursor.grammar.relation(cursor))
    else if (skipDots(cursor)) continue
    if (!cursor.takeSymbol(",") && !cursor.takeSymbol(";")) break
  }
  if (elements.length === 0) throw notAFormula
  return elements
}

const ellipses = ["ldots", "dots", "cdots", "dotsc", "dotsb", "vdots"]

function skipDots(cursor: Cursor): boolean {
  return ellipses.some((name) => cursor.takeCommand(name))
}

export function startsElement(cursor: Cursor): boolean {
  return (
    startsOperand(cursor) ||
    cursor.isSymbol("+") ||
    cursor.isSymbol("-") ||
    cursor.isSymbol("|") ||
    ["pm", "mp", "vert", "|", "Vert"].some((name) => cursor.isCommand(name))
  )
}

/** Parentheses and brackets: a group, an interval or a tuple. */
function parseParenthesised(cursor: Cursor, opening: "(" | "["): Expression {
  const elements = cursor.enclosed(() => parseElements(cursor))
  let closing: ")" | "]"
  if (cursor.takeSymbol(")") || cursor.takeCommand("rparen")) closing = ")"
  else if (cursor.takeSymbol("]") || cursor.takeCommand("rbrack")) closing = "]"
  else throw notAFormula
  const [lower, upper] = elements
  if (lower === undefined) throw notAFormula
  if (upper === undefined) {
    if ((opening === "(") !== (closing === ")")) {
      // `[3,100)`: what looks like one number can only be two.
      if (lower.kind === "number" && lower.groups?.length === 2) return splitInterval(lower.groups, opening, closing)
      throw notAFormula
    }
    return lower.kind === "number" && lower.groups !== undefined ? { ...lower, parenthesised: true } : lower
  }
  if (elements.length === 2 && (opening === "[" || closing === "]" || isRising(lower, upper, cursor.budget))) {
    return { kind: "interval", lower, upper, lowerOpen: opening === "(", upperOpen: closing === ")" }
  }
  return { kind: "tuple", elements }
}

function splitInterval(groups: readonly Rational[], opening: "(" | "[", closing: ")" | "]"): Expression {
  const [low, high] = groups
  if (low === undefined || high === undefined) throw notAFormula
  return {
    kind: "interval",
    lower: { kind: "number", value: low, decimal: false },
    upper: { kind: "number", value: high, decimal: false },
    lowerOpen: opening === "(",
    upperOpen: closing === ")",
  }
}
