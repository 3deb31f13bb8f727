/** How models mark a thought; the first one counts where a text does not say how its thought began. */
const marks = [
  { start: "<think>", end: "</think>" },
  { start: "[THINK]", end: "[/THINK]" },
  { start: "<seed:think>", end: "</seed:think>" },
  { start: "<|START_THINKING|>", end: "<|END_THINKING|>" },
] as const
const longestEnd = Math.max(...marks.map(({ end }) => end.length))

export interface SplitText {
  /** The thought, whole and without its marks; "" where there is none (yet). */
  thought: string
  /** What comes after it. */
  text: string
}

/**
 * Splits the thought off a text that arrives in pieces. Whether a text is a thought shows at its end mark, since the
 * prompt may have begun it: up to there all is held back, and a text without one is no thought.
 */
export class ThoughtSplitter {
  #held = ""
  #state: "thinking" | "blank" | "answering" = "thinking"
  /** The last characters that were looked through. */
  #seen = ""

  push(piece: string): SplitText {
    if (this.#state !== "thinking") return { thought: "", text: this.#afterThought(piece) }
    this.#held += piece
    const window = this.#seen + piece
    this.#seen = window.slice(-longestEnd)
    return marks.some(({ end }) => window.includes(end)) ? this.#split(false) : { thought: "", text: "" }
  }

  end(): SplitText {
    if (this.#state !== "thinking") return { thought: "", text: "" }
    const split = this.#split(true)
    if (this.#state !== "thinking") return split
    this.#state = "answering"
    return { thought: "", text: this.#held }
  }

  #split(final: boolean): SplitText {
    const start = this.#held.trimStart()
    const opened = marks.find((mark) => start.startsWith(mark.start))
    for (const mark of opened === undefined ? marks : [opened]) {
      const at = this.#held.indexOf(mark.end)
      if (at < 0) {
        // Of several kinds the first one counts, which may still come.
        if (!final) break
        continue
      }
      const before =
        opened === undefined
          ? this.#held.slice(0, at)
          : start.slice(mark.start.length, at - this.#held.length + start.length)
      this.#state = "blank"
      return { thought: before.trim(), text: this.#afterThought(this.#held.slice(at + mark.end.length)) }
    }
    return { thought: "", text: "" }
  }

  #afterThought(piece: string): string {
    if (this.#state === "answering") return piece
    const text = piece.trimStart()
    if (text !== "") this.#state = "answering"
    return text
  }
}
