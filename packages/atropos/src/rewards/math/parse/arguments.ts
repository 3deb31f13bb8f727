import type { Expression } from "../expression.ts"
import { notAFormula, type Cursor } from "./cursor.ts"

/** `(a, b, …)` as separate operands. */
export function parseArguments(cursor: Cursor): Expression[] {
  cursor.expectSymbol("(")
  const operands = cursor.enclosed(() => {
    // A bar is not an absolute value here: `P(A|B)`.
    cursor.openBars = 1
    const list = [cursor.grammar.relation(cursor)]
    while ([",", ";", "|"].some((text) => cursor.takeSymbol(text)) || cursor.takeCommand("mid")) {
      list.push(cursor.grammar.relation(cursor))
    }
    return list
  })
  cursor.expectSymbol(")")
  return operands
}

/** The subscript as it is written, without braces; undefined if there is none. */
export function takeSubscript(cursor: Cursor): string | undefined {
  if (!cursor.takeSymbol("_")) return undefined
  const spell = (): string => {
    const token = cursor.next()
    switch (token.type) {
      case "number":
        return token.value.denominator === 1n ? String(token.value.numerator) : "?"
      case "letter":
      case "symbol":
        return token.text
      case "text":
        return token.content.trim()
      case "command":
        return `\\${token.name} `
      case "begin":
      case "end":
        throw notAFormula
    }
  }
  if (!cursor.takeSymbol("{")) return spell()
  let text = ""
  let depth = 1
  for (;;) {
    if (cursor.isSymbol("{")) depth++
    else if (cursor.isSymbol("}") && --depth === 0) {
      cursor.position++
      return text
    }
    text += spell()
  }
}

/** The argument of a command: a group, or (repaired) the next digit or letter. */
export function parseArgument(cursor: Cursor): Expression {
  if (cursor.takeSymbol("{")) {
    const content = cursor.enclosed(() => cursor.grammar.list(cursor))
    cursor.expectSymbol("}")
    return content
  }
  if (!cursor.repair) throw notAFormula
  return cursor.grammar.primary(cursor)
}
