// Python's textwrap, as the filter wordwrap calls it: white space stays what it is, but for that at line ends.
import type { Budget } from "../values/budget.ts"
import { typeError, valueError } from "../values/errors.ts"
import { textLength, unitOffset } from "../values/text.ts"

export interface WrapOptions {
  width: number
  /** False for a float, by which no word can be cut. */
  isWhole: boolean
  breakLongWords: boolean
  breakOnHyphens: boolean
}

const blank = "\\t\\n\\v\\f\\r "
const word = "[\\p{L}\\p{N}_]"
const letter = "(?:(?!\\p{Nd})[\\p{L}\\p{N}_])"
const wordOrMark = `(?:${word}|[!"'&.,?])`
// A piece ends at white space, behind the hyphen of a compound word, or where a dash between words begins.
const compoundHyphen = `-(?:(?<=${letter}{2}-)|(?<=${letter}-${letter}-))(?=${letter}-?${letter})`
const dashAhead = `(?<=${wordOrMark})(?=-{2,}${word})`
const piece = new RegExp(
  `[${blank}]+|(?<=${wordOrMark})-{2,}(?=${word})|[^${blank}]+?(?:${compoundHyphen}|(?=[${blank}]|$)|${dashAhead})`,
  "gu",
)
const spaceOrWord = new RegExp(`[${blank}]+|[^${blank}]+`, "g")
const onlyBlank = /^\s*$/

/** The lines of one paragraph, none longer than `width` unless a word is. */
export function wrapLine(text: string, options: WrapOptions, budget: Budget): string[] {
  const { width } = options
  if (width <= 0) throw valueError(`invalid width ${width} (must be > 0)`)
  const chunks = (text.match(options.breakOnHyphens ? piece : spaceOrWord) ?? []).toReversed()
  const lines: string[] = []
  while (chunks.length > 0) {
    if (lines.length > 0 && onlyBlank.test(chunks.at(-1) ?? "")) chunks.pop()
    // A long word is looked at whole for every line that it fills.
    budget.text(chunks.at(-1)?.length ?? 0)
    const line: string[] = []
    let length = 0
    for (let next = chunks.at(-1); next !== undefined; next = chunks.at(-1)) {
      const size = textLength(next)
      if (length + size > width) break
      line.push(next)
      length += size
      chunks.pop()
    }
    const next = chunks.at(-1)
    if (next !== undefined && textLength(next) > width) placeLongWord(next, chunks, line, width - length, options)
    if (onlyBlank.test(line.at(-1) ?? "x")) line.pop()
    if (line.length > 0) lines.push(line.join(""))
  }
  return lines
}

/** Cuts a word that is longer than a line, or gives it a line of its own. */
function placeLongWord(next: string, chunks: string[], line: string[], room: number, options: WrapOptions): void {
  if (!options.breakLongWords) {
    if (line.length === 0) line.push(chunks.pop() ?? "")
    return
  }
  if (options.width >= 1 && !options.isWhole) throw typeError("slice indices must be integers")
  let end = unitOffset(next, Math.min(options.width < 1 ? 1 : room, textLength(next)))
  if (options.breakOnHyphens && end < next.length) {
    const hyphen = next.slice(0, end).lastIndexOf("-")
    if (hyphen > 0 && /[^-]/.test(next.slice(0, hyphen))) end = hyphen + 1
  }
  line.push(next.slice(0, end))
  chunks[chunks.length - 1] = next.slice(end)
}
