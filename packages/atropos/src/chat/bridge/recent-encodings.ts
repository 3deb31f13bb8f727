/**
 * Ids of texts that were encoded lately. The rollouts of a group ask the same and are told much the same, and to encode
 * is a good part of what a turn costs. Holds so many characters and forgets the oldest texts first.
 */
export class RecentEncodings {
  readonly #ids = new Map<string, readonly number[]>()
  readonly #maxCharacters: number
  #characters = 0

  constructor(maxCharacters = 2_000_000) {
    this.#maxCharacters = maxCharacters
  }

  /** The ids as `encode` gives them, in an array of the caller's own. */
  idsOf(text: string, encode: (text: string) => number[]): number[] {
    const known = this.#ids.get(text)
    if (known !== undefined) return known.slice()
    const ids = encode(text)
    // A copy: a text that was cut out of a long one would keep all of that in memory.
    this.#keep(` ${text}`.slice(1), ids.slice())
    return ids
  }

  #keep(text: string, ids: readonly number[]): void {
    if (text.length > this.#maxCharacters) return
    this.#ids.set(text, ids)
    this.#characters += text.length
    for (const oldest of this.#ids.keys()) {
      if (this.#characters <= this.#maxCharacters) return
      this.#ids.delete(oldest)
      this.#characters -= oldest.length
    }
  }
}
