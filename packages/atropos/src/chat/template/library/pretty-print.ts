// pprint.pformat, as the filter of that name calls it: 80 columns, dicts in the order of their keys.
import type { Runtime } from "../runtime.ts"
import { TemplateFailure } from "../values/errors.ts"
import { compare } from "../values/operators.ts"
import { toRepr } from "../values/show.ts"
import { splitLines, textLength, whitespace } from "../values/text.ts"
import { Dict, Tuple, typeName, type Value } from "../values/value.ts"

const pageWidth = 80

export function prettyPrint(value: Value, runtime: Runtime): string {
  return new PrettyPrinter(runtime).format(value, 0, 0, true)
}

class PrettyPrinter {
  readonly #runtime: Runtime

  constructor(runtime: Runtime) {
    this.#runtime = runtime
  }

  /** `indent` columns are taken before the value and `allowance` are needed behind it. */
  format(value: Value, indent: number, allowance: number, isOutermost = false): string {
    const line = this.#line(value)
    if (textLength(line) <= pageWidth - indent - allowance) return line
    return this.#runtime.budget.nested(() => {
      if (value instanceof Dict) return this.#dict(value, indent, allowance)
      if (Array.isArray(value)) return `[${this.#items(value, indent, allowance + 1)}]`
      if (value instanceof Tuple && value.typeName === "tuple") {
        const close = value.items.length === 1 ? ",)" : ")"
        return `(${this.#items(value.items, indent, allowance + close.length)}${close}`
      }
      return typeof value === "string" ? this.#text(value, indent, allowance, isOutermost) : line
    })
  }

  /** repr(value), but for the order of keys. */
  #line(value: Value): string {
    const { budget } = this.#runtime
    if (value instanceof Dict)
      return budget.nested(() => {
        const entries = this.#sorted(value).map(([key, item]) => `${this.#line(key)}: ${this.#line(item)}`)
        return this.#counted(`{${entries.join(", ")}}`)
      })
    const items = Array.isArray(value) ? value : value instanceof Tuple ? value.items : undefined
    if (items === undefined) return toRepr(value, this.#runtime)
    return budget.nested(() => {
      const inner = items.map((item) => this.#line(item)).join(", ")
      if (Array.isArray(value)) return this.#counted(`[${inner}]`)
      return this.#counted(items.length === 1 ? `(${inner},)` : `(${inner})`)
    })
  }

  #counted(text: string): string {
    this.#runtime.budget.text(text.length)
    return text
  }

  /** By key; keys that have no order among each other go by the names of their types. */
  #sorted(dict: Dict): [Value, Value][] {
    return [...dict.entries()].toSorted(([a], [b]) => {
      try {
        return compare(a, b, "<", this.#runtime)
      } catch (error) {
        if (!(error instanceof TemplateFailure) || error.kind !== "TypeError") throw error
        const [left, right] = [typeName(a), typeName(b)]
        return left < right ? -1 : left > right ? 1 : 0
      }
    })
  }

  #dict(dict: Dict, indent: number, allowance: number): string {
    const inner = indent + 1
    const entries = this.#sorted(dict)
    const parts = entries.map(([key, value], index) => {
      const name = this.#line(key)
      const behind = index === entries.length - 1 ? allowance + 1 : 1
      return `${name}: ${this.format(value, inner + textLength(name) + 2, behind)}`
    })
    return `{${parts.join(lineBreak(inner))}}`
  }

  #items(items: readonly Value[], indent: number, allowance: number): string {
    const inner = indent + 1
    return items
      .map((item, index) => this.format(item, inner, index === items.length - 1 ? allowance : 1))
      .join(lineBreak(inner))
  }

  /** A long text as several literals below each other, broken at line ends and behind white space. */
  #text(text: string, indent: number, allowance: number, isOutermost: boolean): string {
    const [from, behind] = isOutermost ? [indent + 1, allowance + 1] : [indent, allowance]
    const room = pageWidth - from
    const chunks: string[] = []
    const lines = splitLines(text, true)
    lines.forEach((line, index) => {
      const isLast = index === lines.length - 1
      if (this.#width(line) <= (isLast ? room - behind : room)) return chunks.push(line)
      return chunks.push(...this.#wrapped(line, room, isLast ? behind : 0))
    })
    const literals = chunks.map((chunk) => toRepr(chunk, this.#runtime))
    if (literals.length === 1) return toRepr(lines.at(-1) ?? "", this.#runtime)
    const joined = literals.join(`\n${" ".repeat(from)}`)
    return isOutermost ? `(${joined})` : joined
  }

  #wrapped(line: string, room: number, behind: number): string[] {
    const chunks: string[] = []
    const words = line.match(wordAndSpace) ?? []
    let current = ""
    words.forEach((word, index) => {
      const limit = index === words.length - 1 ? room - behind : room
      if (this.#width(current + word) > limit) {
        if (current !== "") chunks.push(current)
        current = word
      } else current += word
    })
    if (current !== "") chunks.push(current)
    return chunks
  }

  #width(text: string): number {
    return textLength(toRepr(text, this.#runtime))
  }
}

const wordAndSpace = new RegExp(`[^${whitespace}]*[${whitespace}]+|[^${whitespace}]+`, "g")

function lineBreak(indent: number): string {
  return `,\n${" ".repeat(indent)}`
}
