import type { Expression } from "../expression.ts"
import { Budget } from "../numbers/budget.ts"
import type { Token } from "./lexer.ts"

export interface ParseOptions {
  /** Words behind a number are units and left out. @default true */
  units?: boolean
  /** Accept `\frac12`, `\sqrt3`, `x^(2)`. @default true */
  repair?: boolean
}

/** Deeper nesting than this is not read: no answer has it, and recursion must end somewhere. */
const maxDepth = 60

/** Thrown where the text is not a formula; caught by `parseLatex` alone. One object: stacks are slow and no use here. */
export const notAFormula = new Error("not a formula")

/** The grammar's levels, reached through the cursor because they contain each other. */
export interface Grammar {
  /** A whole list with relations: what stands between braces or as a whole. */
  list(cursor: Cursor): Expression
  relation(cursor: Cursor): Expression
  sum(cursor: Cursor): Expression
  /** One operand of an implicit product: a number, a name, a group, with its powers. */
  postfix(cursor: Cursor): Expression
  primary(cursor: Cursor): Expression
  /** A formula that stands as text inside another one, read with the same options. */
  inner(source: string, outer: Cursor): Expression
}

/** A position in the tokens, and what the grammar needs to know at any place. */
export class Cursor {
  position = 0
  readonly bound = new Set<string>()
  readonly units: boolean
  readonly repair: boolean
  readonly tokens: readonly Token[]
  readonly grammar: Grammar
  /** Steps for what reading has to evaluate, and for going back and forth. */
  readonly budget: Budget
  private depth: number
  /** Bars of absolute values that are open: then a bar closes instead of opening. */
  openBars = 0
  /** A colon ends what stands before it (`\{x : x > 2\}`) instead of making a ratio. */
  colonSeparates = false

  /** `outer`: what is read stands inside another formula and counts as deep as that. */
  constructor(tokens: readonly Token[], grammar: Grammar, options: ParseOptions, outer?: Cursor) {
    this.depth = outer === undefined ? 0 : outer.depth + 1
    this.budget = outer?.budget ?? new Budget(30_000)
    this.tokens = tokens
    this.grammar = grammar
    this.units = options.units ?? true
    this.repair = options.repair ?? true
  }

  peek(offset = 0): Token | undefined {
    return this.tokens[this.position + offset]
  }

  next(): Token {
    const token = this.tokens[this.position++]
    if (token === undefined) throw notAFormula
    return token
  }

  get atEnd(): boolean {
    return this.position >= this.tokens.length
  }

  isSymbol(text: string, offset = 0): boolean {
    const token = this.peek(offset)
    return token?.type === "symbol" && token.text === text
  }

  isCommand(name: string, offset = 0): boolean {
    const token = this.peek(offset)
    return token?.type === "command" && token.name === name
  }

  /** Takes the symbol if it is next. */
  takeSymbol(text: string): boolean {
    if (!this.isSymbol(text)) return false
    this.position++
    return true
  }

  takeCommand(name: string): boolean {
    if (!this.isCommand(name)) return false
    this.position++
    return true
  }

  expectSymbol(text: string): void {
    if (!this.takeSymbol(text)) throw notAFormula
  }

  /** One level deeper; refuses nesting beyond all sense. What throws below need not leave. */
  enter(): void {
    if (++this.depth > maxDepth || !this.budget.spend(5)) throw notAFormula
  }

  leave(): void {
    this.depth--
  }

  /** Runs `parse` one level deeper and with bars opening again: inside brackets of its own. */
  enclosed<T>(parse: () => T): T {
    const bars = this.openBars
    this.openBars = 0
    this.enter()
    const parsed = parse()
    this.leave()
    this.openBars = bars
    return parsed
  }

  /** Tries `parse`; when it fails everything is as it was. */
  attempt<T>(parse: () => T): T | undefined {
    const { position, depth, openBars, colonSeparates } = this
    try {
      return parse()
    } catch (error) {
      if (error !== notAFormula) throw error
      this.position = position
      this.depth = depth
      this.openBars = openBars
      this.colonSeparates = colonSeparates
      return undefined
    }
  }
}
