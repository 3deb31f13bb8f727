// json.dumps, as transformers' tojson calls it.
import type { Runtime } from "../runtime.ts"
import { typeError } from "../values/errors.ts"
import { floatRepr } from "../values/numbers.ts"
import { compare } from "../values/operators.ts"
import { asText, Dict, Tuple, typeName, Undefined, type Value } from "../values/value.ts"

export interface DumpOptions {
  ensureAscii: boolean
  /** What one level is indented by; undefined writes one line. */
  indent: string | undefined
  itemSeparator: string
  keySeparator: string
  sortKeys: boolean
}

export function dumpJson(value: Value, options: DumpOptions, runtime: Runtime): string {
  return new JsonWriter(options, runtime).write(value, "\n")
}

class JsonWriter {
  readonly #options: DumpOptions
  readonly #runtime: Runtime
  #length = 0

  constructor(options: DumpOptions, runtime: Runtime) {
    this.#options = options
    this.#runtime = runtime
  }

  /** `lineStart` is a line end and the current indentation. */
  write(value: Value, lineStart: string): string {
    const text = this.#scalar(value)
    if (text !== undefined) {
      this.#length += text.length
      this.#runtime.budget.text(this.#length)
      return text
    }
    return this.#runtime.budget.nested(() => {
      if (Array.isArray(value)) return this.#list(value, lineStart)
      if (value instanceof Tuple) return this.#list(value.items, lineStart)
      if (value instanceof Dict) return this.#dict(value, lineStart)
      throw typeError(`Object of type ${typeName(value)} is not JSON serializable`)
    })
  }

  #scalar(value: Value): string | undefined {
    if (value === null) return "null"
    const text = asText(value)
    if (text !== undefined) return quoteJson(text, this.#options.ensureAscii)
    if (typeof value === "boolean") return value ? "true" : "false"
    if (typeof value === "bigint") return value.toString()
    return typeof value === "number" ? jsonFloat(value) : undefined
  }

  #list(items: readonly Value[], lineStart: string): string {
    if (items.length === 0) return "[]"
    const inner = this.#inner(lineStart)
    return this.#wrap(
      "[",
      "]",
      items.map((item) => this.write(item, inner)),
      lineStart,
      inner,
    )
  }

  #dict(dict: Dict, lineStart: string): string {
    if (dict.size === 0) return "{}"
    const inner = this.#inner(lineStart)
    const entries = [...dict.entries()]
    if (this.#options.sortKeys) entries.sort(([a], [b]) => compare(a, b, "<", this.#runtime))
    const parts = entries.map(([key, value]) => {
      const name = quoteJson(keyText(key), this.#options.ensureAscii)
      return name + this.#options.keySeparator + this.write(value, inner)
    })
    return this.#wrap("{", "}", parts, lineStart, inner)
  }

  #inner(lineStart: string): string {
    return this.#options.indent === undefined ? lineStart : lineStart + this.#options.indent
  }

  #wrap(open: string, close: string, parts: string[], lineStart: string, inner: string): string {
    const { indent, itemSeparator } = this.#options
    this.#length += parts.length * (itemSeparator.length + (indent === undefined ? 0 : inner.length))
    this.#runtime.budget.text(this.#length)
    if (indent === undefined) return open + parts.join(itemSeparator) + close
    return open + inner + parts.join(itemSeparator + inner) + lineStart + close
  }
}

function jsonFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN"
  return Number.isFinite(value) ? floatRepr(value) : value > 0 ? "Infinity" : "-Infinity"
}

function keyText(key: Value): string {
  const text = asText(key)
  if (text !== undefined) return text
  if (key === null) return "null"
  if (typeof key === "boolean") return key ? "true" : "false"
  if (typeof key === "bigint") return key.toString()
  if (typeof key === "number") return jsonFloat(key)
  throw typeError(
    `keys must be str, int, float, bool or None, not ${key instanceof Undefined ? "Undefined" : typeName(key)}`,
  )
}

// Built from text: a control character cannot stand in a pattern as itself.
const control = "\\u0000-\\u001f"
const special = new RegExp(`["\\\\${control}]`, "g")
const specialOrWide = new RegExp(`["\\\\${control}]|[^\\u0000-\\u007f]`, "g")
const shortEscapes = new Map([
  ['"', '\\"'],
  ["\\", "\\\\"],
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\f", "\\f"],
  ["\b", "\\b"],
])

export function quoteJson(text: string, ensureAscii: boolean): string {
  const body = text.replace(
    ensureAscii ? specialOrWide : special,
    // Without the u flag, characters beyond U+FFFF come as two units, which is how JSON escapes them.
    (unit) => shortEscapes.get(unit) ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  )
  return `"${body}"`
}
