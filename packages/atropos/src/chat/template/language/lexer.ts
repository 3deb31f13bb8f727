// Template text → tokens, with trim_blocks and lstrip_blocks on, as chat templates are rendered.
import { TemplateFailure } from "../values/errors.ts"
import { stripEnd, whitespace } from "../values/text.ts"

export type TokenType =
  | "text"
  | "variable_begin"
  | "variable_end"
  | "block_begin"
  | "block_end"
  | "name"
  | "string"
  | "integer"
  | "float"
  | "operator"
  | "end"

export interface Token {
  type: TokenType
  /** Text, name or operator; the digits of a number; a string's content. */
  value: string
  line: number
}

const space = `[${whitespace}]`
const opening = new RegExp(`\\{%([-+]?)${space}*raw${space}*(?:-%\\}${space}*|%\\})|(\\{\\{|\\{#|\\{%)([-+]?)`, "g")
const rawEnd = new RegExp(`\\{%([-+]?)${space}*endraw${space}*(?:\\+%\\}|-%\\}${space}*|%\\}\\n?)`, "g")
const commentEnd = new RegExp(`\\+#\\}|-#\\}${space}*|#\\}\\n?`, "g")
const blockEnd = new RegExp(`\\+%\\}|-%\\}${space}*|%\\}\\n?`, "y")
const variableEnd = new RegExp(`-\\}\\}${space}*|\\}\\}`, "y")
const blank = new RegExp(`${space}+`, "y")
const floatNumber = /(?<!\.)(?:\d+_)*\d+(?:(?:\.(?:\d+_)*\d+)?e[+-]?(?:\d+_)*\d+|\.(?:\d+_)*\d+)/iy
const integerNumber = /0b(?:_?[0-1])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy
const nameText = /[\p{ID_Continue}·℘℮゛゜]+/uy
const identifier = /^[\p{ID_Start}_][\p{ID_Continue}]*$/u
const stringText = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y
const operatorText = /\/\/|\*\*|==|!=|>=|<=|[-+/*%~[\](){}><=.:|,;]/y

const closers = new Map([
  ["(", ")"],
  ["[", "]"],
  ["{", "}"],
])

export function tokenize(source: string): Token[] {
  const text = source.replace(/\r\n|\r/g, "\n").replace(/\n$/, "")
  return new Lexer(text).run()
}

class Lexer {
  readonly #source: string
  readonly #tokens: Token[] = []
  #position = 0
  #line = 1
  #lineStarting = true

  constructor(source: string) {
    this.#source = source
  }

  run(): Token[] {
    while (this.#position < this.#source.length) this.#root()
    this.#push("end", "")
    return this.#tokens
  }

  #push(type: TokenType, value: string): void {
    this.#tokens.push({ type, value, line: this.#line })
  }

  #advance(end: number): void {
    const passed = this.#source.slice(this.#position, end)
    this.#line += passed.split("\n").length - 1
    this.#lineStarting = passed.endsWith("\n")
    this.#position = end
  }

  #fail(message: string): TemplateFailure {
    return new TemplateFailure("TemplateSyntaxError", message, this.#line)
  }

  #root(): void {
    opening.lastIndex = this.#position
    const match = opening.exec(this.#source)
    if (match === null) {
      this.#push("text", this.#source.slice(this.#position))
      this.#position = this.#source.length
      return
    }
    const [whole, rawSign, tag, sign] = match
    this.#text(match.index, tag === undefined ? (rawSign ?? "") : (sign ?? ""), tag !== "{{")
    this.#advance(match.index + whole.length)
    if (tag === undefined) this.#raw()
    else if (tag === "{#") this.#skipTo(commentEnd, "comment tag")
    else this.#inside(tag === "{{" ? "variable" : "block")
  }

  /** The text up to `end`, with the space before a tag cut as its sign (or lstrip_blocks) says. */
  #text(end: number, sign: string, isBlock: boolean): void {
    const text = this.#source.slice(this.#position, end)
    let kept = text
    if (sign === "-") kept = stripEnd(text)
    else if (sign !== "+" && isBlock) {
      const lineStart = text.lastIndexOf("\n") + 1
      if ((lineStart > 0 || this.#lineStarting) && stripEnd(text.slice(lineStart)) === "")
        kept = text.slice(0, lineStart)
    }
    if (kept !== "") this.#push("text", kept)
  }

  #skipTo(pattern: RegExp, what: string): RegExpExecArray {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#source)
    if (match === null) throw this.#fail(`Missing end of ${what}`)
    this.#advance(match.index + match[0].length)
    return match
  }

  #raw(): void {
    const start = this.#position
    rawEnd.lastIndex = start
    const match = rawEnd.exec(this.#source)
    if (match === null) throw this.#fail("Missing end of raw directive")
    this.#text(match.index, match[1] ?? "", true)
    this.#advance(match.index + match[0].length)
  }

  #inside(kind: "variable" | "block"): void {
    this.#push(`${kind}_begin`, "")
    const end = kind === "variable" ? variableEnd : blockEnd
    const open: string[] = []
    for (;;) {
      if (this.#position >= this.#source.length) return
      if (open.length === 0) {
        const closing = this.#match(end)
        if (closing !== undefined) {
          this.#push(`${kind}_end`, "")
          this.#advance(this.#position + closing.length)
          return
        }
      }
      this.#token(open)
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    return pattern.exec(this.#source)?.[0]
  }

  #token(open: string[]): void {
    const take = (text: string): void => this.#advance(this.#position + text.length)
    const skipped = this.#match(blank)
    if (skipped !== undefined) return take(skipped)
    for (const [type, pattern] of [
      ["float", floatNumber],
      ["integer", integerNumber],
    ] as const) {
      const digits = this.#match(pattern)
      if (digits === undefined) continue
      this.#push(type, digits.replaceAll("_", ""))
      return take(digits)
    }
    const name = this.#match(nameText)
    if (name !== undefined) {
      if (!identifier.test(name)) throw this.#fail("Invalid character in identifier")
      this.#push("name", name)
      return take(name)
    }
    const literal = this.#match(stringText)
    if (literal !== undefined) {
      this.#push("string", this.#unescape(literal.slice(1, -1)))
      return take(literal)
    }
    const operator = this.#match(operatorText)
    if (operator === undefined) throw this.#fail(`unexpected character at ${this.#position}`)
    const closer = closers.get(operator)
    if (closer !== undefined) open.push(closer)
    else if (operator === ")" || operator === "]" || operator === "}") {
      const expected = open.pop()
      if (expected !== operator)
        throw this.#fail(`unexpected '${operator}'${expected === undefined ? "" : `, expected '${expected}'`}`)
    }
    this.#push("operator", operator)
    return take(operator)
  }

  /**
   * Python reads a string literal's escapes after spelling every non-ASCII character as an escape itself;
   * doing the same keeps its corner cases.
   */
  #unescape(content: string): string {
    if (!content.includes("\\")) return content
    const ascii = content.replace(/\P{ASCII}/gu, (character) => {
      const code = character.codePointAt(0) ?? 0
      if (code < 0x100) return `\\x${code.toString(16).padStart(2, "0")}`
      return code < 0x10000 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`
    })
    return ascii.replace(
      /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|([\s\S]))/g,
      (whole, x?: string, u?: string, wide?: string, octal?: string, simple?: string) => {
        const hex = x ?? u ?? wide
        if (hex !== undefined) {
          const code = Number.parseInt(hex, 16)
          if (code > 0x10ffff) throw this.#fail("illegal Unicode character")
          return String.fromCodePoint(code)
        }
        if (octal !== undefined) return String.fromCodePoint(Number.parseInt(octal, 8))
        if (simple === "x" || simple === "u" || simple === "U") throw this.#fail(`truncated \\${simple} escape`)
        if (simple === "N") throw this.#fail("character names (\\N{…}) are not supported")
        return simpleEscapes.get(simple ?? "") ?? whole
      },
    )
  }
}

const simpleEscapes = new Map([
  ["\n", ""],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
])
