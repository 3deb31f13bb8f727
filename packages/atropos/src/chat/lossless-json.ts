/** A number that was written with a point or an exponent: `1.0` stays apart from `1`. */
export class JsonFloat {
  readonly value: number
  constructor(value: number) {
    this.value = value
  }
}

/** JSON without what JSON.parse loses: kinds and sizes of numbers, and the order of keys that look like integers. */
export type LosslessJson = null | boolean | bigint | JsonFloat | string | LosslessJson[] | Map<string, LosslessJson>

/**
 * Reads JSON as Python's json.loads does: whole numbers become bigints, others JsonFloats, objects Maps in written
 * order; `NaN`, `Infinity` and `-Infinity` are taken. Throws a SyntaxError with the position.
 */
export function parseLosslessJson(text: string): LosslessJson {
  const reader = new JsonReader(text)
  return reader.document()
}

const space = /[ \t\n\r]*/y
const number = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y
const control = "\\u0000-\\u001f"
const stringRun = new RegExp(`[^"\\\\${control}]*`, "y")
const escapes = new Map([
  ['"', '"'],
  ["\\", "\\"],
  ["/", "/"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
])
const words: readonly (readonly [string, null | boolean | JsonFloat])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", new JsonFloat(Number.NaN)],
  ["Infinity", new JsonFloat(Number.POSITIVE_INFINITY)],
  ["-Infinity", new JsonFloat(Number.NEGATIVE_INFINITY)],
]
/** Deeper than any real document, and far from the end of the stack. */
const deepest = 500

class JsonReader {
  readonly #text: string
  #position = 0
  #depth = 0

  constructor(text: string) {
    this.#text = text
  }

  document(): LosslessJson {
    const value = this.#value()
    this.#skip()
    if (this.#position < this.#text.length) throw this.#fail("more text after the value")
    return value
  }

  #fail(what: string): SyntaxError {
    return new SyntaxError(`JSON: ${what} at position ${this.#position}`)
  }

  #skip(): void {
    this.#match(space)
  }

  #match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.#text)
    if (match !== null) this.#position += match[0].length
    return match
  }

  #take(character: string): boolean {
    this.#skip()
    if (this.#text.charAt(this.#position) !== character) return false
    this.#position += 1
    return true
  }

  #value(): LosslessJson {
    this.#skip()
    switch (this.#text.charAt(this.#position)) {
      case "{":
        return this.#nested(() => this.#object())
      case "[":
        return this.#nested(() => this.#array())
      case '"':
        return this.#string()
      default:
        return this.#scalar()
    }
  }

  #nested<T>(read: () => T): T {
    this.#depth += 1
    if (this.#depth > deepest) throw this.#fail(`nesting deeper than ${deepest}`)
    this.#position += 1
    const value = read()
    this.#depth -= 1
    return value
  }

  #object(): Map<string, LosslessJson> {
    const object = new Map<string, LosslessJson>()
    if (this.#take("}")) return object
    do {
      this.#skip()
      if (this.#text.charAt(this.#position) !== '"') throw this.#fail("a key is missing")
      const key = this.#string()
      if (!this.#take(":")) throw this.#fail("a colon is missing")
      object.set(key, this.#value())
    } while (this.#take(","))
    if (!this.#take("}")) throw this.#fail("an object is not closed")
    return object
  }

  #array(): LosslessJson[] {
    const array: LosslessJson[] = []
    if (this.#take("]")) return array
    do array.push(this.#value())
    while (this.#take(","))
    if (!this.#take("]")) throw this.#fail("an array is not closed")
    return array
  }

  #string(): string {
    this.#position += 1
    let text = ""
    for (;;) {
      text += this.#match(stringRun)?.[0] ?? ""
      const character = this.#text.charAt(this.#position)
      if (character === '"') {
        this.#position += 1
        return text
      }
      if (character !== "\\") throw this.#fail("a string is not closed")
      const code = this.#text.charAt(this.#position + 1)
      if (code === "u") {
        const hex = this.#text.slice(this.#position + 2, this.#position + 6)
        if (!/^[\da-fA-F]{4}$/.test(hex)) throw this.#fail("a broken \\u escape")
        text += String.fromCharCode(Number.parseInt(hex, 16))
        this.#position += 6
      } else {
        const plain = escapes.get(code)
        if (plain === undefined) throw this.#fail("an unknown escape")
        text += plain
        this.#position += 2
      }
    }
  }

  #scalar(): LosslessJson {
    const match = this.#match(number)
    if (match !== null) {
      const [digits, fraction, exponent] = match
      return fraction === undefined && exponent === undefined ? BigInt(digits) : new JsonFloat(Number(digits))
    }
    for (const [word, value] of words)
      if (this.#text.startsWith(word, this.#position)) {
        this.#position += word.length
        return value
      }
    throw this.#fail("no value")
  }
}

/** Like parseLosslessJson, but undefined for text that is no JSON. */
export function tryParseLosslessJson(text: string): LosslessJson | undefined {
  try {
    return parseLosslessJson(text)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** The same value in JavaScript's own kinds, as JSON.parse gives it. */
export function toPlainJson(value: LosslessJson): unknown {
  if (typeof value === "bigint") return Number(value)
  if (value instanceof JsonFloat) return value.value
  if (Array.isArray(value)) return value.map(toPlainJson)
  if (value instanceof Map) return Object.fromEntries([...value].map(([key, item]) => [key, toPlainJson(item)]))
  return value
}
