/** Boxes closer than this belong together whatever stands between them. */
const nearGap = 10
/** Boxes closer than this belong together when a separator stands between them. */
const separatedGap = 70

/** More text in boxes than this is no answer. */
const maxContent = 20_000

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
  let length = 0
  const commands = new BoxCommands(text)
  while (length <= maxContent) {
    const box = commands.before(limit)
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
    length += closing - box.start
    nextStart = box.start
    limit = box.start
  }
  return contents.length === 0 ? text : contents.toReversed().join(",")
}

function belongTogether(between: string, content: string, behind: string | undefined): boolean {
  return between.length < nearGap || (content !== behind && between.length < separatedGap && separator.test(between))
}

/** Finds box commands from the end of a text; each kind is searched for once per place. */
class BoxCommands {
  private readonly text: string
  private boxed = Number.POSITIVE_INFINITY
  private framed = Number.POSITIVE_INFINITY

  constructor(text: string) {
    this.text = text
  }

  /** The last command that begins before `limit`. */
  before(limit: number): { start: number; end: number } | undefined {
    if (this.boxed >= limit) this.boxed = this.last("\\boxed", limit)
    if (this.framed >= limit) this.framed = this.last("\\fbox", limit)
    const start = Math.max(this.boxed, this.framed)
    if (start < 0) return undefined
    return { start, end: start + (start === this.boxed ? "\\boxed" : "\\fbox").length }
  }

  private last(command: string, limit: number): number {
    return limit <= 0 ? -1 : this.text.lastIndexOf(command, limit - 1)
  }
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
