import { closingTokenIds } from "../end-of-turn.ts"
import { encodeMarked } from "../plain-contents.ts"
import type { Tokenizer } from "../tokenizer.ts"
import { RecentEncodings } from "./recent-encodings.ts"

export interface TurnTokenOptions {
  /** Tokens that can end a sample. @default those of the model's files, and the closing ones */
  stopTokenIds?: readonly number[]
  /** Tokens that do nothing but end a turn. @default the end token, and known ones of model families */
  closingTokenIds?: readonly number[]
  /**
   * What stands before a piece of text that is encoded by itself, for vocabularies that put a blank before every
   * piece. @default a newline where the vocabulary does so
   */
  boundaryAnchor?: string
  /** For a template with `plainContents`. @default false */
  plainContents?: boolean
}

/** What a session has to know of a vocabulary: which tokens end samples and turns, and how to encode inside a text. */
export class TurnTokens {
  readonly tokenizer: Tokenizer
  readonly plainContents: boolean
  readonly #stop: ReadonlySet<number>
  readonly #closing: ReadonlyMap<string, number>
  readonly #closingIds: ReadonlySet<number>
  readonly #anchor: string | undefined
  readonly #added: RegExp | undefined
  readonly #recent = new RecentEncodings()
  readonly #starts = new Map<string, readonly number[]>()
  #decodesInPieces: boolean | undefined

  constructor(tokenizer: Tokenizer, options: TurnTokenOptions = {}) {
    this.tokenizer = tokenizer
    this.plainContents = options.plainContents ?? false
    const closing = options.closingTokenIds ?? closingTokenIds(tokenizer)
    this.#closingIds = new Set(closing)
    this.#closing = new Map(closing.map((id) => [tokenizer.idToToken(id) ?? "", id]))
    this.#stop = new Set([...(options.stopTokenIds ?? tokenizer.stopTokenIds), ...closing])
    this.#anchor = options.boundaryAnchor ?? (needsAnchor(tokenizer) ? "\n" : undefined)
    this.#added = addedTokenPattern(tokenizer)
  }

  endsTurn(id: number | undefined): boolean {
    return id !== undefined && this.#closingIds.has(id)
  }

  endsSample(id: number | undefined): boolean {
    return id !== undefined && this.#stop.has(id)
  }

  /** Text of a sample without the token that ended it. */
  answerText(ids: readonly number[]): string {
    return this.tokenizer.decode(this.endsSample(ids.at(-1)) ? ids.slice(0, -1) : ids)
  }

  /** Whether the text of ids is the texts of its parts, so that a sample can be decoded while it comes. */
  get decodesInPieces(): boolean {
    return (this.#decodesInPieces ??= decodesInPieces(this.tokenizer))
  }

  /** Where the first token that ends a turn or a sample begins in `text`; undefined without one. */
  firstEnd(text: string): number | undefined {
    let first: number | undefined
    for (const id of this.#stop) {
      const token = this.tokenizer.idToToken(id)
      const at = token === undefined || token === "" ? -1 : text.indexOf(token)
      if (at >= 0 && (first === undefined || at < first)) first = at
    }
    return first
  }

  /**
   * The start of `tail` up to and with its first closing token, if only white space and added tokens come before;
   * `markers` are the pieces before that token.
   */
  lead(tail: string): { length: number; closingId: number; markers: string[] } | undefined {
    const markers: string[] = []
    let at = 0
    for (;;) {
      const piece = this.#pieceAt(tail, at)
      if (piece === undefined) return undefined
      at += piece.length
      const closingId = this.#closing.get(piece)
      if (closingId !== undefined) return { length: at, closingId, markers }
      markers.push(piece)
    }
  }

  /** A run of white space or an added token at a place of a text. */
  #pieceAt(text: string, at: number): string | undefined {
    blank.lastIndex = at
    const space = blank.exec(text)
    if (space !== null) return space[0]
    if (this.#added === undefined) return undefined
    this.#added.lastIndex = at
    return this.#added.exec(text)?.[0]
  }

  /** Ids of `text` as it follows the token `left` (undefined at the beginning). */
  encodeAfter(left: number | undefined, text: string): number[] {
    if (text === "") return []
    if (left === undefined) return this.#encode(text)
    // An added token may take in the white space after it, and keeps a blank from being put before the text.
    const token = this.tokenizer.isAddedToken(left) ? this.tokenizer.idToToken(left) : undefined
    return this.#encodeBehind(token, text) ?? this.#encodeBehind(this.#anchor, text) ?? this.#encode(text)
  }

  /** Undefined where the two texts have a token in common, as two runs of newlines may. */
  #encodeBehind(before: string | undefined, text: string): number[] | undefined {
    if (before === undefined) return undefined
    const start = this.#startOf(before)
    const whole = this.#encode(before + text)
    return start.every((id, index) => whole[index] === id) ? whole.slice(start.length) : undefined
  }

  /** Of what stands before texts there are few. */
  #startOf(before: string): readonly number[] {
    const known = this.#starts.get(before)
    if (known !== undefined) return known
    const ids = this.tokenizer.encode(before)
    this.#starts.set(before, ids)
    return ids
  }

  #encode(text: string): number[] {
    return this.#recent.idsOf(text, (unknown) =>
      this.plainContents ? encodeMarked(this.tokenizer, unknown) : this.tokenizer.encode(unknown),
    )
  }
}

const blank = /\s+/y

/** Longest first, since one token's spelling may begin another's. */
function addedTokenPattern(tokenizer: Tokenizer): RegExp | undefined {
  const spellings = [...tokenizer.addedTokens.keys()].filter((token) => token.trim() !== "")
  if (spellings.length === 0) return undefined
  const sorted = spellings.toSorted((a, b) => b.length - a.length)
  return new RegExp(sorted.map((token) => token.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&")).join("|"), "y")
}

/** Whether a text encoded by itself has other ids than inside a longer one. */
function needsAnchor(tokenizer: Tokenizer): boolean {
  const alone = tokenizer.encode("x")
  const inside = tokenizer.encode("\nx").slice(tokenizer.encode("\n").length)
  return alone.join() !== inside.join()
}

/** Some decoders write what stands between two tokens only where both are there. */
function decodesInPieces(tokenizer: Tokenizer): boolean {
  const ids = tokenizer.encode("one two, three")
  return tokenizer.decode(ids) === ids.map((id) => tokenizer.decode([id])).join("")
}
