import { operandsOf, type Expression } from "../expression.ts"
import type { Cursor } from "./cursor.ts"

/** Short units that are letters of formulas as well: they count only behind a space and at the end. */
const lettersThatAreUnits = new Set("m g s h l L N J W V A K".split(" "))

/** Units written right behind the number, or too short to be told from a product by their looks. */
const shortUnits = new Set(
  (
    "cm mm km dm nm um kg mg gm ml mL cl dl kL ft in yd mi lb lbs oz hr hrs min mins sec secs ms mph kmh kph pm am Hz kHz " +
    "MHz GHz kW MW kJ eV Pa kPa mol cc sq deg rad USD EUR GBP usd yr yrs wk wks pts pt ha pcs km/h m/s"
  ).split(" "),
)

/** Words that are no units behind a number. */
const notUnits = new Set(["and", "or", "mod", "if", "for", "when", "where"])

/**
 * Leaves out a unit behind a number: words, `\text` of any kind, with their powers (`12 apples`, `3\text{ m}^2`,
 * `60 km/h`). Returns whether there was one.
 */
export function skipUnit(cursor: Cursor, before: Expression): boolean {
  const token = cursor.peek()
  if (token === undefined) return false
  const start = cursor.position
  if (token.type === "text") {
    if (!isUnitText(token.content)) return false
    if (token.roman && !isNumeric(before)) return false
    cursor.position++
  } else if (token.type === "letter" && token.run !== undefined) {
    if (!isNumeric(before) || !isUnitWord(token.run, token.spaced)) return false
    cursor.position += token.run.length
    skipMoreWords(cursor)
  } else return false
  skipPower(cursor)
  if (cursor.isSymbol("/") && skipPer(cursor)) skipPower(cursor)
  if (endsOperand(cursor)) return true
  cursor.position = start
  return false
}

/** Text that stands behind a value and is no part of it. A value of its own (`\text{12}`) is not a unit. */
function isUnitText(content: string): boolean {
  return !/[\d\\]/.test(content) && !/^\s*[ei]?\s*$/.test(content)
}

function isNumeric(expression: Expression): boolean {
  const { kind } = expression
  if (kind === "number" || kind === "percent") return true
  if (kind === "constant") return expression.name === "pi"
  return (kind === "quotient" || kind === "power" || kind === "root") && operandsOf(expression).every(isNumeric)
}

function isUnitWord(run: string, spaced: boolean): boolean {
  if (shortUnits.has(run)) return true
  if (!spaced || notUnits.has(run)) return false
  if (run.length === 1) return lettersThatAreUnits.has(run)
  // Two or three letters without a vowel (or all the same) are a product of letters rather than a word.
  return run.length > 3 || (run.length === 3 && /[aeiou]/.test(run))
}

function skipMoreWords(cursor: Cursor): void {
  for (;;) {
    const token = cursor.peek()
    if (token?.type === "text" && isUnitText(token.content)) cursor.position++
    else if (token?.type === "letter" && token.spaced && token.run !== undefined && !notUnits.has(token.run)) {
      cursor.position += token.run.length
    } else return
  }
}

function skipPower(cursor: Cursor): void {
  if (!cursor.isSymbol("^")) return
  const isDigit = (offset: number): boolean => {
    const token = cursor.peek(offset)
    return token?.type === "number" && token.integer && token.value.numerator <= 9n
  }
  if (isDigit(1)) cursor.position += 2
  else if (cursor.isSymbol("{", 1) && isDigit(2) && cursor.isSymbol("}", 3)) cursor.position += 4
}

/** The `/h` of `60 km/h`. */
function skipPer(cursor: Cursor): boolean {
  const token = cursor.peek(1)
  if (token?.type === "text" && isUnitText(token.content)) cursor.position += 2
  else if (token?.type === "letter" && token.run !== undefined) cursor.position += 1 + token.run.length
  else return false
  return true
}

const closers = new Set([",", ";", ")", "]", "}", "=", "<", ">", "<=", ">=", "!=", "|", "&", ":"])
const closingCommands = new Set(
  "} rbrace rangle le leq leqslant ge geq geqslant lt gt ne neq approx in cup cap setminus \\".split(" "),
)

function endsOperand(cursor: Cursor): boolean {
  const token = cursor.peek()
  if (token === undefined) return true
  if (token.type === "symbol") return closers.has(token.text)
  if (token.type === "command") return closingCommands.has(token.name)
  return token.type === "end"
}
