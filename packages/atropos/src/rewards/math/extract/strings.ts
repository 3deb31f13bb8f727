import type { Match } from "./match.ts"

/** The wanted strings where they stand as words: after white space or the start, before punctuation or the end. */
export class StringScanner {
  private readonly words: RegExp
  private readonly bare: RegExp

  constructor(strings: readonly string[]) {
    // Longer ones first, so that "AB" is not taken for "A".
    const choice = strings
      .toSorted((a, b) => b.length - a.length)
      .map((text) => text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, "\\$&"))
      .join("|")
    this.words = new RegExp(`(?:^|\\s)(?:\\*\\*)?(${choice})(?:\\*\\*)?(?=[.,:\\s]|$)`, "g")
    this.bare = new RegExp(choice, "y")
  }

  *all(text: string): Generator<Match> {
    for (const match of text.matchAll(this.words)) {
      const [whole, found = ""] = match
      yield { start: match.index, end: match.index + whole.length, content: { kind: "string", text: found } }
    }
  }

  /** A wanted string exactly at `start`. */
  at(text: string, start: number): Match | undefined {
    this.bare.lastIndex = start
    const match = this.bare.exec(text)
    if (match === null) return undefined
    return { start, end: start + match[0].length, content: { kind: "string", text: match[0] } }
  }

  /** The first whole word within the next `reach` characters. */
  within(text: string, start: number, reach: number): Match | undefined {
    for (const match of this.all(text.slice(start, start + reach + 40))) {
      if (match.start <= reach) return { ...match, start: start + match.start, end: start + match.end }
    }
    return undefined
  }
}
