/** Boxes closer than this belong together whatever stands between them. */
const nearGap = 10
/** Boxes closer than this belong together when a separator stands between them. */
const separatedGap = 70

const separator = /\b(?:and|or)\b|,|;/

/**
 * The content of the boxes (`\boxed{…}`, `\fbox{…}`) in a text, in order and joined by commas; the text itself when it
 * has none. `last` takes only the last box and those before it that belong with it.
 */
export function boxedContent(text: string, mode: "all" | "last"): string {
  const contents: string[] = []
  // The text is read from its end; `limit` is where the box behind begins.
  let limit = text.length
  let nextStart: number | undefined
  for (;;) {
    const box = lastBoxCommand(text, limit)
    if (box === undefined) break
    let opening = box.end
    while (opening < limit && isSpace(text.charCodeAt(opening))) opening++
    if (opening >= limit) break
    const closing = text.charAt(opening) === "{" ? closingBrace(text, opening, limit) : undefined
    if (closing === undefined) {
      // Not closed: what follows is its content, if no box behind it was found.
      if (contents.length === 0) contents.push(text.slice(opening))
      break
    }
    const content = text.slice(opening + 1, closing).trim()
    const behind = contents.at(-1)
    if (
      mode === "last" &&
      nextStart !== undefined &&
      !belongTogether(text.slice(closing + 1, nextStart), content, behind)
    ) {
      break
    }
    if (content !== behind) contents.push(content)
    nextStart = box.start
    limit = box.start
  }
  return contents.length === 0 ? text : contents.toReversed().join(",")
}

function belongTogether(between: string, content: string, behind: string | undefined): boolean {
  return between.length < nearGap || (content !== behind && between.length < separatedGap && separator.test(between))
}

function lastBoxCommand(text: string, before: number): { start: number; end: number } | undefined {
  if (before <= 0) return undefined
  const boxed = text.lastIndexOf("\\boxed", before - 1)
  const framed = text.lastIndexOf("\\fbox", before - 1)
  if (boxed < 0 && framed < 0) return undefined
  return boxed > framed
    ? { start: boxed, end: boxed + "\\boxed".length }
    : { start: framed, end: framed + "\\fbox".length }
}

function closingBrace(text: string, opening: number, limit: number): number | undefined {
  let depth = 0
  for (let index = opening; index < limit; index++) {
    const code = text.charCodeAt(index)
    if (code === 0x7b) depth++
    else if (code === 0x7d && --depth === 0) return index
  }
  return undefined
}

function isSpace(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d)
}
