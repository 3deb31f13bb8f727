import type { FormulaPart, Match } from "./match.ts"

interface Environment {
  content: string
  /** Behind the closing delimiter, the white space after it and a percent sign. */
  end: number
  percent: boolean
}

/** Formulas joined by "and", "or" or commas are one answer; up to this many. */
const maxJoined = 6

const joiner = /\s*(?:,?and|,?or|,)\s*/y
const looseJoiner = /\s*(?:,?\s*and|,?\s*or|,)\s*/y
const percentSign = /\\?%|[Pp]ercent(?:age)?|[Pp]ct/y
const bareFraction = /-?\\frac\{-?\d{1,40}(?:[.,]\d{1,40})?\}\{-?\d{1,40}(?:[.,]\d{1,40})?\}/y
const bracketed = /\s\[([^\n\][]{1,2000})\]\s/y

/** Finds LaTeX environments in one text. Where closing delimiters stand is remembered, so that scanning stays linear. */
export class EnvironmentScanner {
  private readonly text: string
  private readonly found = new Map<string, { from: number; at: number }>()

  constructor(text: string) {
    this.text = text
  }

  /** All places, from left to right and without overlap. With `boxed`, only environments with a box in them. */
  *all(boxed: boolean): Generator<Match> {
    let position = 0
    while (position < this.text.length) {
      const start = this.nextCandidate(position)
      if (start === undefined) return
      const match = this.at(start, boxed)
      if (match === undefined) position = start + 1
      else {
        yield match
        position = Math.max(match.end, start + 1)
      }
    }
  }

  /** The environments that begin exactly at `start`, joined ones included. */
  at(start: number, boxed: boolean): Match | undefined {
    const first = this.environmentAt(start, boxed)
    if (first === undefined) return undefined
    const parts: FormulaPart[] = [{ text: first.content, percent: first.percent }]
    let end = first.end
    while (parts.length < maxJoined) {
      const pattern = boxed ? looseJoiner : joiner
      pattern.lastIndex = end
      const joined = pattern.exec(this.text)
      if (joined === null) break
      const next = this.environmentAt(end + joined[0].length, boxed)
      if (next === undefined) break
      parts.push({ text: next.content, percent: next.percent })
      end = next.end
    }
    return { start, end, content: { kind: "formulas", parts } }
  }

  /** The next position where an environment could begin: `$`, `\`, or white space before `[`. */
  private nextCandidate(from: number): number | undefined {
    for (let index = from; index < this.text.length; index++) {
      const code = this.text.charCodeAt(index)
      if (code === 0x24 || code === 0x5c) return index
      if (code === 0x5b && index > from && isSpace(this.text.charCodeAt(index - 1))) return index - 1
    }
    return undefined
  }

  private environmentAt(start: number, boxed: boolean): Environment | undefined {
    const { text } = this
    const code = text.charCodeAt(start)
    const escaped = start > 0 && text.charCodeAt(start - 1) === 0x5c
    if (code === 0x24) {
      if (escaped) return undefined
      if (text.charCodeAt(start + 1) === 0x24) {
        const display = this.delimited(start, "$$", "$$", { boxed, multiline: true })
        if (display !== undefined) return display
      }
      const digitBefore = start > 0 && isDigit(text.charCodeAt(start - 1))
      return digitBefore ? undefined : this.inlineDollar(start, boxed)
    }
    if (code === 0x5c) {
      const next = text.charCodeAt(start + 1)
      if (!escaped && next === 0x5b) return this.delimited(start, "\\[", "\\]", { boxed, multiline: true })
      if (!escaped && next === 0x28) return this.delimited(start, "\\(", "\\)", { boxed, multiline: false })
      return boxed ? undefined : this.fraction(start)
    }
    if (code === 0x2d) return boxed ? undefined : this.fraction(start)
    if (!isSpace(code)) return undefined
    bracketed.lastIndex = start
    const match = bracketed.exec(text)
    const content = match?.[1]
    if (match === null || content === undefined || (boxed && !hasBox(content))) return undefined
    return this.withPercent(content, start + match[0].length)
  }

  private fraction(start: number): Environment | undefined {
    const from = this.text.charCodeAt(start) === 0x5c && this.text.charCodeAt(start - 1) === 0x2d ? start - 1 : start
    bareFraction.lastIndex = from
    const match = bareFraction.exec(this.text)
    return match === null ? undefined : this.withPercent(match[0], from + match[0].length)
  }

  private delimited(
    start: number,
    open: string,
    close: string,
    { boxed, multiline }: { boxed: boolean; multiline: boolean },
  ): Environment | undefined {
    const from = start + open.length
    const closing = this.indexOf(close, from + 1)
    if (closing === undefined || this.text.charCodeAt(closing - 1) === 0x5c) return undefined
    if (!multiline) {
      const newline = this.indexOf("\n", from)
      if (newline !== undefined && newline < closing) return undefined
    }
    if (open !== "$$") {
      // The closing delimiter may not stand right behind the opening one.
      const immediate = this.indexOf(close, from)
      if (immediate !== closing) return undefined
    }
    return this.environment(from, closing, close.length, boxed)
  }

  /** `$…$` on one line; an escaped dollar sign inside does not close it. */
  private inlineDollar(start: number, boxed: boolean): Environment | undefined {
    const from = start + 1
    const newline = this.indexOf("\n", from) ?? this.text.length
    let closing = this.indexOf("$", from)
    while (closing !== undefined && this.text.charCodeAt(closing - 1) === 0x5c) closing = this.indexOf("$", closing + 1)
    if (closing === undefined || closing > newline || closing === from) return undefined
    return this.environment(from, closing, 1, boxed)
  }

  private environment(from: number, closing: number, width: number, boxed: boolean): Environment | undefined {
    if (boxed) {
      const box = this.indexOf("\\boxed{", from)
      if (box === undefined || box > closing) return undefined
    }
    const content = this.text.slice(from, closing)
    if (boxed && !hasBox(content)) return undefined
    return this.withPercent(content, closing + width)
  }

  private withPercent(content: string, end: number): Environment {
    let position = end
    while (isSpace(this.text.charCodeAt(position))) position++
    percentSign.lastIndex = position
    const sign = percentSign.exec(this.text)
    return { content, end: position + (sign?.[0].length ?? 0), percent: sign !== null }
  }

  /** `indexOf` that remembers its last answer for each needle: queries that move forward cost one pass in all. */
  private indexOf(needle: string, from: number): number | undefined {
    const known = this.found.get(needle)
    if (known !== undefined && known.from <= from && (known.at === -1 || known.at >= from)) {
      return known.at === -1 ? undefined : known.at
    }
    const at = this.text.indexOf(needle, from)
    this.found.set(needle, { from, at })
    return at === -1 ? undefined : at
  }
}

function hasBox(content: string): boolean {
  const box = content.indexOf("\\boxed{")
  return box !== -1 && content.indexOf("}", box + "\\boxed{".length + 1) !== -1
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0xa0
}
