// Control tokens that conversations spell are text: marked where a conversation is given to its template, and encoded
// without added tokens where the rendered text is encoded. What the template itself writes stays as it is.
import { AtroposError } from "../runtime/errors.ts"
import { JsonFloat } from "./lossless-json.ts"
import type { TemplateInput } from "./template/values/convert.ts"
import type { Tokenizer } from "./tokenizer.ts"

// Private characters, which no text has to have; given ones are taken out, so that nobody can forge a mark.
const markStart = "\u{f0000}"
const markEnd = "\u{f0001}"
const anyMark = new RegExp(`[${markStart}${markEnd}]`, "gu")
// How JSON in ASCII and Python's repr would spell a mark.
const spelledMark = /\\udb80\\udc0[01]|\\U000f000[01]/i

/** Marks control tokens in what is given to a template. */
export class ControlTokenMarks {
  readonly #pattern: RegExp | undefined

  /** Control tokens are the special ones, and other added ones that the template writes itself. */
  constructor(tokenizer: Tokenizer, templateSource: string) {
    if (tokenizer.encodePlain === undefined)
      throw new AtroposError(
        "bad-option",
        `the tokenizer of ${tokenizer.name} cannot encode text without its added tokens, so plainContents has no meaning for it`,
      )
    const isControl = (token: string, id: number): boolean =>
      tokenizer.isSpecialToken?.(id) !== false || (token.trim() !== "" && templateSource.includes(token))
    this.#pattern = spellingPattern([...tokenizer.addedTokens].filter((entry) => isControl(...entry)))
  }

  mark(value: TemplateInput): TemplateInput {
    if (typeof value === "string") return this.#markText(value)
    if (Array.isArray(value)) return value.map((item: TemplateInput) => this.mark(item))
    if (value === null || typeof value !== "object" || value instanceof JsonFloat) return value
    const entries: Iterable<[string, TemplateInput]> = value instanceof Map ? value : Object.entries(value)
    return new Map([...entries].map(([key, item]) => [this.#markText(key), this.mark(item)]))
  }

  #markText(text: string): string {
    const clean = withoutMarks(text)
    return this.#pattern === undefined ? clean : clean.replace(this.#pattern, `${markStart}$&${markEnd}`)
  }
}

export function withoutMarks(text: string): string {
  return text.replace(anyMark, "")
}

/** Refuses a rendering whose marks the template spelled in another way: they would not be found again. */
export function checkMarks(rendered: string): void {
  if (!spelledMark.test(rendered)) return
  throw new AtroposError(
    "template-refused",
    "the chat template writes contents with escapes, in which control tokens cannot be kept apart; render without plainContents",
  )
}

/** Ids of a text rendered from marked input: what is marked is encoded without added tokens. */
export function encodeMarked(tokenizer: Tokenizer, text: string): number[] {
  if (text.search(anyMark) < 0) return tokenizer.encode(text)
  const tokens = spellingPattern([...tokenizer.addedTokens])?.source ?? "(?!)"
  // Text and marked tokens in turn. A mark whose other half the template cut away still parts the text.
  const pieces = text.split(new RegExp(`${markStart}(${tokens})${markEnd}|[${markStart}${markEnd}]`, "gu"))
  const encode = (piece: string): number[] => tokenizer.encode(piece)
  // A lone mark leaves the place of its token undefined.
  return pieces.flatMap((piece: string | undefined, index) => {
    if (piece === undefined || piece === "") return []
    if (index === 0) return encode(piece)
    return index % 2 === 0 ? encodeInside(tokenizer, piece, encode) : encodeToken(tokenizer, piece)
  })
}

function encodeToken(tokenizer: Tokenizer, token: string): number[] {
  const ids = encodeInside(tokenizer, token, (text) => tokenizer.encodePlain?.(text) ?? [])
  const forbidden = tokenizer.addedTokens.get(token)
  if (ids.length > 0 && !ids.includes(forbidden ?? -1)) return ids
  throw new AtroposError(
    "bad-tokenizer",
    `the tokenizer of ${tokenizer.name} makes a control token of plain text, so plainContents cannot keep it out of contents`,
  )
}

/** Some vocabularies put a blank before the first piece of a text; behind a newline they do not. */
function encodeInside(tokenizer: Tokenizer, piece: string, encode: (text: string) => number[]): number[] {
  const newline = tokenizer.encode("\n")
  const anchored = encode(`\n${piece}`)
  return newline.every((id, index) => anchored[index] === id) ? anchored.slice(newline.length) : encode(piece)
}

/** Longest first, since one token's spelling may begin another's. */
function spellingPattern(tokens: readonly (readonly [string, number])[]): RegExp | undefined {
  if (tokens.length === 0) return undefined
  const sorted = tokens.map(([token]) => token).toSorted((a, b) => b.length - a.length)
  return new RegExp(sorted.map((token) => token.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")).join("|"), "gu")
}
