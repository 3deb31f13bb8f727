import { TemplateFailure } from "../values/errors.ts"
import type { Token, TokenType } from "./lexer.ts"

const end: Token = { type: "end", value: "", line: 0 }

/** A cursor over tokens, for the parsers. */
export class TokenStream {
  readonly #tokens: readonly Token[]
  #index = 0

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens
  }

  get current(): Token {
    return this.#tokens[this.#index] ?? end
  }

  get ahead(): Token {
    return this.#tokens[this.#index + 1] ?? end
  }

  next(): Token {
    const token = this.current
    if (token.type !== "end") this.#index += 1
    return token
  }

  is(type: TokenType, value?: string): boolean {
    const token = this.current
    return token.type === type && (value === undefined || token.value === value)
  }

  isOperator(...operators: string[]): boolean {
    return this.current.type === "operator" && operators.includes(this.current.value)
  }

  skipIf(type: TokenType, value?: string): boolean {
    if (!this.is(type, value)) return false
    this.next()
    return true
  }

  expect(type: TokenType, value?: string): Token {
    if (!this.is(type, value)) {
      const wanted = value ?? type
      throw this.fail(`expected token '${wanted}', got '${describe(this.current)}'`)
    }
    return this.next()
  }

  fail(message: string, line = this.current.line): TemplateFailure {
    return new TemplateFailure("TemplateSyntaxError", message, line)
  }
}

export function describe(token: Token): string {
  switch (token.type) {
    case "name":
    case "operator":
      return token.value
    case "end":
      return "end of template"
    case "text":
    case "variable_begin":
    case "variable_end":
    case "block_begin":
    case "block_end":
    case "string":
    case "integer":
    case "float":
      return token.type
  }
}
