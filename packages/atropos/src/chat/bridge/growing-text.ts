import type { TurnTokens } from "./turn-tokens.ts"

/** What decoders write for bytes that are no whole character. */
const incomplete = "\uFFFD"
/** A token that is one byte, in vocabularies that fall back to bytes: a run of them is decoded as one. */
const byteToken = /^<0x[0-9A-F]{2}>$/

/**
 * The text of a sample while its tokens arrive. What it gives is the beginning of the whole sample's text, whatever
 * follows: it holds back characters that are not complete, and a token that would end the sample if it were the last.
 */
export class GrowingText {
  readonly #tokens: TurnTokens
  #held: number[] = []
  /** How many have to be held before they are looked at again: bytes that never make a character would cost squares. */
  #nextLook = 0

  constructor(tokens: TurnTokens) {
    this.#tokens = tokens
  }

  /** The text that has become certain with these ids. */
  push(ids: readonly number[]): string {
    for (const id of ids) this.#held.push(id)
    if (!this.#tokens.decodesInPieces || this.#held.length < this.#nextLook) return ""
    const certain = this.#certainLength()
    const text = this.#tokens.tokenizer.decode(this.#held.slice(0, certain))
    if (text.endsWith(incomplete)) {
      this.#nextLook = this.#held.length + (this.#held.length >> 2)
      return ""
    }
    this.#nextLook = 0
    this.#held = this.#held.slice(certain)
    return text
  }

  #certainLength(): number {
    const { tokenizer } = this.#tokens
    let length = this.#held.length
    if (this.#tokens.endsSample(this.#held.at(-1))) length -= 1
    while (length > 0 && byteToken.test(tokenizer.idToToken(this.#held[length - 1] ?? -1) ?? "")) length -= 1
    return length
  }
}
