import type { Expression } from "../expression.ts"
import { parsePostfix, parseSum } from "./arithmetic.ts"
import { Cursor, notAFormula, type Grammar, type ParseOptions } from "./cursor.ts"
import { expandSigns } from "./expand-signs.ts"
import { tokenize } from "./lexer.ts"
import { parsePrimary } from "./primary.ts"
import { parseList, parseRelation } from "./structures.ts"

const grammar: Grammar = {
  list: parseList,
  relation: parseRelation,
  sum: parseSum,
  postfix: parsePostfix,
  primary: parsePrimary,
  inner: (source, outer) => parseWhole(source, { units: outer.units, repair: outer.repair }, outer),
}

/** Longer formulas than this are not read. */
const maxCharacters = 12_000

/** The tree of a formula in LaTeX or plain notation; undefined for what is none. Never throws. */
export function parseLatex(source: string, options: ParseOptions = {}): Expression | undefined {
  if (source.length > maxCharacters) return undefined
  try {
    return expandSigns(parseWhole(source, options))
  } catch (error) {
    if (error === notAFormula) return undefined
    throw error
  }
}

function parseWhole(source: string, options: ParseOptions, outer?: Cursor): Expression {
  const tokens = tokenize(source)
  if (tokens === undefined || tokens.length === 0) throw notAFormula
  const cursor = new Cursor(tokens, grammar, options, outer)
  const expression = parseList(cursor)
  if (!cursor.atEnd) throw notAFormula
  return expression
}
