// Python's str: a sequence of code points, with its own idea of white space.

/** What str.isspace() is true of; also what `\s` matches in Python. */
export const whitespace =
  "\\t\\n\\v\\f\\r\\x1c-\\x1f \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"

const leadingSpace = new RegExp(`^[${whitespace}]+`)
const spaceRun = new RegExp(`[${whitespace}]+`, "g")
const onlySpace = new RegExp(`^[${whitespace}]+$`)
const oneSpace = new RegExp(`[${whitespace}]`)
const surrogate = /[\ud800-\udfff]/
/** The separators \x1c to \x1e end lines too. */
const separators = "\\x1c-\\x1e"
const lineEnd = new RegExp(`\\r\\n|[\\n\\r\\v\\f${separators}\\x85\\u2028\\u2029]`, "g")

export function isSpace(text: string): boolean {
  return onlySpace.test(text)
}

export function stripStart(text: string, characters?: string): string {
  if (characters === undefined) return text.replace(leadingSpace, "")
  const cut = new Set(characters)
  let start = 0
  for (const character of text) {
    if (!cut.has(character)) break
    start += character.length
  }
  return text.slice(start)
}

export function stripEnd(text: string, characters?: string): string {
  const cut = characters === undefined ? undefined : new Set(characters)
  let end = text.length
  while (end > 0) {
    const size = end > 1 && isLowSurrogate(text, end - 1) && isHighSurrogate(text, end - 2) ? 2 : 1
    const character = text.slice(end - size, end)
    if (cut === undefined ? !oneSpace.test(character) : !cut.has(character)) break
    end -= size
  }
  return text.slice(0, end)
}

function isLowSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xdc00 && unit <= 0xdfff
}

function isHighSurrogate(text: string, index: number): boolean {
  const unit = text.charCodeAt(index)
  return unit >= 0xd800 && unit <= 0xdbff
}

/** str.split() without a separator: at runs of white space, nothing empty. */
export function splitAtSpace(text: string, limit = Number.POSITIVE_INFINITY): string[] {
  const parts: string[] = []
  let rest = stripStart(text)
  while (rest !== "" && parts.length < limit) {
    spaceRun.lastIndex = 0
    const match = spaceRun.exec(rest)
    if (match === null) break
    parts.push(rest.slice(0, match.index))
    rest = rest.slice(match.index + match[0].length)
  }
  if (rest !== "") parts.push(rest)
  return parts
}

export function rsplitAtSpace(text: string, limit: number): string[] {
  const parts: string[] = []
  let rest = stripEnd(text)
  while (rest !== "" && parts.length < limit) {
    let start = rest.length
    while (start > 0 && !oneSpace.test(rest.charAt(start - 1))) start -= 1
    if (start === 0) break
    parts.push(rest.slice(start))
    rest = stripEnd(rest.slice(0, start))
  }
  if (rest !== "") parts.push(rest)
  return parts.toReversed()
}

export function splitLines(text: string, keepEnds = false): string[] {
  const lines: string[] = []
  let start = 0
  for (const match of text.matchAll(lineEnd)) {
    const end = match.index + match[0].length
    lines.push(text.slice(start, keepEnds ? end : match.index))
    start = end
  }
  if (start < text.length) lines.push(text.slice(start))
  return lines
}

/** The text as code points; cheap where UTF-16 units are already that. */
export function codePoints(text: string): string | readonly string[] {
  return surrogate.test(text) ? Array.from(text) : text
}

export function textLength(text: string): number {
  return codePoints(text).length
}

/** Position in UTF-16 units of the code point `index`, which lies in 0..length. */
export function unitOffset(text: string, index: number): number {
  if (!surrogate.test(text)) return index
  let offset = 0
  for (let left = index; left > 0 && offset < text.length; left -= 1)
    offset += isHighSurrogate(text, offset) && isLowSurrogate(text, offset + 1) ? 2 : 1
  return offset
}

/** Python orders texts by code point, JavaScript by UTF-16 unit; they differ beyond U+FFFF. */
export function compareTexts(left: string, right: string): number {
  if (left === right) return 0
  if (!surrogate.test(left) && !surrogate.test(right)) return left < right ? -1 : 1
  const a = Array.from(left, (character) => character.codePointAt(0) ?? 0)
  const b = Array.from(right, (character) => character.codePointAt(0) ?? 0)
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
