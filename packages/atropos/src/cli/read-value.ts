import { z } from "zod"

/** Values in files and flags that mean a truth value. */
export const booleanWords: ReadonlyMap<string, boolean> = new Map(
  ["true", "1", "yes", "on", "y", "t"]
    .map((word) => [word, true] as [string, boolean])
    .concat(["false", "0", "no", "off", "n", "f"].map((word) => [word, false])),
)

export type ReadValue = { ok: true; value: unknown } | { ok: false; message: string }

/**
 * The value of a field as a flag's text or a YAML value spells it: `None` and `null`, numbers, truth words and
 * JSON where the field takes such a thing, the text itself where it takes texts.
 */
export function readValue(field: z.ZodType, raw: unknown, origin: "flag" | "file"): ReadValue {
  for (const candidate of candidates(field, raw, origin)) {
    if (field.safeParse(candidate).success) return { ok: true, value: candidate }
  }
  return { ok: false, message: `takes ${describeType(field)}` }
}

function* candidates(field: z.ZodType, raw: unknown, origin: "flag" | "file"): Generator<unknown> {
  if (typeof raw !== "string") {
    yield raw
    // A YAML 1 for a truth value, a YAML true for a number: read as the original reads them.
    if (typeof raw === "number") yield* booleanOf(String(raw))
    if (typeof raw === "boolean") yield Number(raw)
    return
  }
  if (origin === "flag" && (raw === "None" || raw === "null")) yield null
  const type = innermost(field)
  if (type instanceof z.ZodString || type instanceof z.ZodEnum) yield raw
  else if (type instanceof z.ZodBoolean) yield* booleanOf(raw)
  else if (type instanceof z.ZodNumber) yield* numberOf(raw)
  else {
    yield* jsonOf(raw)
    yield raw
    yield* booleanOf(raw)
  }
}

function* booleanOf(text: string): Generator<boolean> {
  const value = booleanWords.get(text.trim().toLowerCase())
  if (value !== undefined) yield value
}

function* numberOf(text: string): Generator<number> {
  const trimmed = text.trim()
  if (/^[+-]?(\d[\d_]*)?\.?\d*(e[+-]?\d+)?$/i.test(trimmed) && /\d/.test(trimmed))
    yield Number(trimmed.replaceAll("_", ""))
}

function* jsonOf(text: string): Generator<unknown> {
  try {
    yield JSON.parse(text)
  } catch {
    // Not JSON: the next candidate is the text itself.
  }
}

/** The type below defaults, null and the like. */
export function innermost(type: z.ZodType): z.ZodType {
  let current: z.ZodType = type
  while (
    current instanceof z.ZodOptional ||
    current instanceof z.ZodDefault ||
    current instanceof z.ZodPrefault ||
    current instanceof z.ZodNullable ||
    current instanceof z.ZodReadonly
  ) {
    current = current.unwrap() as z.ZodType
  }
  return current
}

/** In words, for messages and help: "a whole number from 1", "text or null", "STOP_TRAIN, LIMIT_TRAIN or NONE". */
export function describeType(field: z.ZodType): string {
  const type = innermost(field)
  const orNull = field.safeParse(null).success ? " or null" : ""
  if (type instanceof z.ZodEnum) return `${listed(type.options.map(String))}${orNull}`
  if (type instanceof z.ZodBoolean) return `true or false${orNull}`
  if (type instanceof z.ZodNumber) {
    const kind = type.isInt ? "a whole number" : "a number"
    // Integer types carry the safe-integer range as bounds, which nobody asked for.
    const low = bound(type.minValue)
    const high = bound(type.maxValue)
    const range =
      low === undefined
        ? high === undefined
          ? ""
          : ` up to ${high}`
        : high === undefined
          ? ` from ${low}`
          : ` from ${low} to ${high}`
    return `${kind}${range}${orNull}`
  }
  if (type instanceof z.ZodString) return `text${orNull}`
  if (type instanceof z.ZodArray) return `a list as JSON${orNull}`
  if (type instanceof z.ZodObject || type instanceof z.ZodRecord) return `an object as JSON${orNull}`
  return `a value as JSON${orNull}`
}

/** One word for help: `int`, `float`, `bool`, `text`, `json`, or the words that it takes with `|` between. */
export function typeName(field: z.ZodType): string {
  const type = innermost(field)
  if (type instanceof z.ZodEnum) return type.options.join("|")
  if (type instanceof z.ZodBoolean) return "bool"
  if (type instanceof z.ZodNumber) return type.isInt ? "int" : "float"
  return type instanceof z.ZodString ? "text" : "json"
}

function bound(value: number | null | undefined): number | undefined {
  return value === null || value === undefined || Math.abs(value) >= Number.MAX_SAFE_INTEGER ? undefined : value
}

function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? ""
  return words.length < 2 ? last : `${words.slice(0, -1).join(", ")} or ${last}`
}
