import { isLiteralNumber, isLiteralObject, type LiteralJson, writeLiteralJson } from "./literal-json.ts"

/** Values that must differ from one another, by label, over a scenario. */
export type DistinctValues = Map<string, Set<string>>

/** The first difference of an answer from what a transcript expects, or null. */
export function findDifference(
  expected: LiteralJson,
  actual: LiteralJson | undefined,
  distinct: DistinctValues,
  path = "$",
): string | null {
  const placeholder = readPlaceholder(expected)
  if (placeholder !== null) return differsFromPlaceholder(placeholder, actual, distinct, path)
  if (actual === undefined) return `${path}: missing, expected ${show(expected)}`
  if (Array.isArray(expected)) {
    if (!Array.isArray(actual) || actual.length !== expected.length) return unequal(path, expected, actual)
    return first(expected, (item, index) => findDifference(item, actual[index], distinct, `${path}[${index}]`))
  }
  if (isLiteralObject(expected)) {
    if (!isLiteralObject(actual)) return unequal(path, expected, actual)
    return first([...expected.entries], ([key, item]) =>
      findDifference(item, actual.entries.get(key), distinct, `${path}.${key}`),
    )
  }
  if (isLiteralNumber(expected)) {
    const equal = isLiteralNumber(actual) && isNear(Number(expected.literal), Number(actual.literal))
    return equal ? null : unequal(path, expected, actual)
  }
  return expected === actual ? null : unequal(path, expected, actual)
}

/**
 * The detail of a 422 as a set: each expected entry is met by one of the answer (which may stop after ten), and
 * each of the answer meets an expected one. A more precise place is welcome.
 */
export function findDetailDifference(expected: LiteralJson[], actual: LiteralJson | undefined): string | null {
  if (!Array.isArray(actual)) return unequal("$.detail", expected, actual)
  const unmet = expected.find((entry) => !actual.some((candidate) => meets(candidate, entry)))
  if (unmet !== undefined && actual.length < 10) return `$.detail: no entry like ${show(unmet)} in ${show(actual)}`
  const extra = actual.find((entry) => !expected.some((candidate) => meets(entry, candidate)))
  return extra === undefined ? null : `$.detail: nobody expects ${show(extra)}, expected ${show(expected)}`
}

function meets(actual: LiteralJson, expected: LiteralJson): boolean {
  if (!isLiteralObject(actual) || !isLiteralObject(expected)) return false
  const type = expected.entries.get("type")
  if (type !== undefined && findDifference(type, actual.entries.get("type"), new Map()) !== null) return false
  const place = expected.entries.get("loc")
  const actualPlace = actual.entries.get("loc")
  if (!Array.isArray(place)) return true
  return (
    Array.isArray(actualPlace) &&
    place.every((item, index) => findDifference(item, actualPlace[index], new Map()) === null)
  )
}

interface Placeholder {
  kind: string
  fields: ReadonlyMap<string, LiteralJson>
}

function readPlaceholder(expected: LiteralJson): Placeholder | null {
  if (!isLiteralObject(expected)) return null
  const kind = ["$any", "$float", "$int", "$absent"].find((key) => expected.entries.has(key))
  return kind === undefined ? null : { kind, fields: expected.entries }
}

function differsFromPlaceholder(
  { kind, fields }: Placeholder,
  actual: LiteralJson | undefined,
  distinct: DistinctValues,
  path: string,
): string | null {
  const value = fields.get(kind) ?? null
  const wanted = show({ entries: new Map(fields) })
  const difference = `${path}: expected ${wanted}, received ${show(actual)}`
  if (kind === "$absent") return actual === undefined ? null : difference
  if (actual === undefined) return `${path}: missing, expected ${wanted}`
  if (kind === "$int") return isLiteralNumber(actual) && actual.literal === value ? null : difference
  if (kind === "$float") {
    const floats = isLiteralNumber(actual) && /[.eE]/.test(actual.literal) && isLiteralNumber(value)
    return floats && isNear(Number(value.literal), Number(actual.literal)) ? null : difference
  }
  if (value !== typeOf(actual) && !(value === "number" && typeOf(actual) === "integer")) return difference
  const maxDigits = fields.get("maxDigits")
  if (maxDigits !== undefined && isLiteralNumber(maxDigits)) {
    const fits = isLiteralNumber(actual) && /^\d+$/.test(actual.literal)
    if (!fits || actual.literal.length > Number(maxDigits.literal)) return difference
  }
  const label = fields.get("distinct")
  if (typeof label === "string") {
    const seen = distinct.get(label) ?? new Set<string>()
    distinct.set(label, seen)
    if (seen.has(show(actual))) return `${path}: ${show(actual)} came before under ${JSON.stringify(label)}`
    seen.add(show(actual))
  }
  return null
}

function typeOf(value: LiteralJson): string {
  if (Array.isArray(value)) return "array"
  if (isLiteralObject(value)) return "object"
  if (isLiteralNumber(value)) return /^-?\d+$/.test(value.literal) ? "integer" : "number"
  return value === null ? "null" : typeof value
}

/** Within 1e-12, relative, or absolute below 1. */
function isNear(expected: number, actual: number): boolean {
  return expected === actual || Math.abs(expected - actual) <= 1e-12 * Math.max(1, Math.abs(expected))
}

function first<Item>(items: readonly Item[], find: (item: Item, index: number) => string | null): string | null {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== null) return found
  }
  return null
}

function unequal(path: string, expected: LiteralJson, actual: LiteralJson | undefined): string {
  return `${path}: expected ${show(expected)}, received ${show(actual)}`
}

function show(value: LiteralJson | undefined): string {
  const text = value === undefined ? "nothing" : writeLiteralJson(value)
  return text.length > 300 ? `${text.slice(0, 300)}…` : text
}
