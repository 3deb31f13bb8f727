/** A number as it was written: a double would lose 128-bit integers and the difference of `1` and `1.0`. */
export interface LiteralNumber {
  readonly literal: string
}

export type LiteralJson = null | boolean | string | LiteralNumber | LiteralJson[] | LiteralObject
export interface LiteralObject {
  readonly entries: ReadonlyMap<string, LiteralJson>
}

export function isLiteralNumber(value: LiteralJson): value is LiteralNumber {
  return typeof value === "object" && value !== null && "literal" in value
}

export function isLiteralObject(value: LiteralJson): value is LiteralObject {
  return typeof value === "object" && value !== null && "entries" in value && value.entries instanceof Map
}

/** Reads strict JSON and keeps numbers as written. Throws a `SyntaxError` with the character where it ends being JSON. */
export function parseLiteralJson(text: string): LiteralJson {
  let at = 0
  const value = readValue()
  skipSpace()
  if (at !== text.length) fail()
  return value

  function readValue(): LiteralJson {
    skipSpace()
    const first = text[at]
    if (first === "{") return readObject()
    if (first === "[") return readArray()
    if (first === '"') return readString()
    for (const [word, meaning] of words) {
      if (text.startsWith(word, at)) {
        at += word.length
        return meaning
      }
    }
    const literal = match(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y)
    return { literal }
  }

  function readObject(): LiteralObject {
    const entries = new Map<string, LiteralJson>()
    at++
    skipSpace()
    if (text[at] === "}") at++
    else {
      do {
        skipSpace()
        const key = readString()
        skipSpace()
        if (text[at++] !== ":") fail()
        entries.set(key, readValue())
      } while (another("}"))
    }
    return { entries }
  }

  function readArray(): LiteralJson[] {
    const items: LiteralJson[] = []
    at++
    skipSpace()
    if (text[at] === "]") at++
    else {
      do items.push(readValue())
      while (another("]"))
    }
    return items
  }

  function another(end: string): boolean {
    skipSpace()
    const next = text[at++]
    if (next !== "," && next !== end) fail()
    return next === ","
  }

  function readString(): string {
    return String(JSON.parse(match(/"(?:[^"\\]|\\.)*"/sy)))
  }

  function match(pattern: RegExp): string {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found === null) return fail()
    at = pattern.lastIndex
    return found[0]
  }

  function skipSpace(): void {
    while (at < text.length && " \t\n\r".includes(text.charAt(at))) at++
  }

  function fail(): never {
    throw new SyntaxError(`no JSON at character ${at}: ${text.slice(Math.max(0, at - 20), at + 20)}`)
  }
}

const words: readonly (readonly [string, LiteralJson])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
]

/** Compact JSON, numbers as they were written. */
export function writeLiteralJson(value: LiteralJson): string {
  if (Array.isArray(value)) return `[${value.map(writeLiteralJson).join(",")}]`
  if (isLiteralObject(value)) {
    return `{${[...value.entries].map(([key, item]) => `${JSON.stringify(key)}:${writeLiteralJson(item)}`).join(",")}}`
  }
  return isLiteralNumber(value) ? value.literal : JSON.stringify(value)
}
