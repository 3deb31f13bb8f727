import { JsonFloat } from "../lossless-json.ts"

/** Whether a field that is null is like one that is not there, as in messages, or a value, as in arguments of calls. */
export type NullFields = "absent" | "values"

/**
 * Whether two JSON values are equal, objects without regard to the order of keys. Texts are compared as such, so this
 * is fast where canonical texts would have to be made.
 */
export function sameJson(one: unknown, other: unknown, nulls: NullFields = "absent"): boolean {
  if (one === other) return true
  if (one === null || one === undefined) return other === null || other === undefined
  if (typeof one !== "object" || typeof other !== "object" || other === null) return sameScalar(one, other)
  if (one instanceof JsonFloat || other instanceof JsonFloat) return sameScalar(one, other)
  if (Array.isArray(one)) {
    if (!Array.isArray(other) || one.length !== other.length) return false
    return one.every((item, index) => sameJson(item, other[index], nulls))
  }
  if (Array.isArray(other)) return false
  if (!(one instanceof Map) && !(other instanceof Map)) return sameFields(one, other, nulls)
  const fields = fieldsOf(one, nulls)
  const otherFields = fieldsOf(other, nulls)
  return (
    fields.size === otherFields.size &&
    [...fields].every(([key, value]) => otherFields.has(key) && sameJson(value, otherFields.get(key), nulls))
  )
}

/** Whether templates print two JSON values alike: the order of keys and the kinds of numbers count too. */
export function writtenAlike(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false
  if (one instanceof JsonFloat) return other instanceof JsonFloat && Object.is(one.value, other.value)
  if (Array.isArray(one) || Array.isArray(other)) {
    if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false
    return one.every((item, index) => writtenAlike(item, other[index]))
  }
  if (one instanceof Map !== other instanceof Map) return false
  return writtenAlike(entriesOf(one).flat(), entriesOf(other).flat())
}

function entriesOf(value: object): [unknown, unknown][] {
  return value instanceof Map ? [...value] : Object.entries(value)
}

/** As with maps, which messages of a long history would be too many of. */
function sameFields(one: object, other: object, nulls: NullFields): boolean {
  let balance = 0
  for (const [key, value] of Object.entries(one)) {
    if (!isField(value, nulls)) continue
    if (!Object.hasOwn(other, key) || !sameJson(value, (other as Record<string, unknown>)[key], nulls)) return false
    balance += 1
  }
  for (const value of Object.values(other)) if (isField(value, nulls)) balance -= 1
  return balance === 0
}

function isField(value: unknown, nulls: NullFields): boolean {
  return value !== undefined && (value !== null || nulls === "values")
}

/** A plain number and a bigint or JsonFloat of the same value came from the same JSON, read in two ways. */
function sameScalar(one: unknown, other: unknown): boolean {
  // Equal ones never come here, and as numbers large ones could be taken for others.
  if (typeof one === "bigint" && typeof other === "bigint") return false
  const a = scalarNumber(one)
  return a !== undefined && a === scalarNumber(other)
}

function scalarNumber(value: unknown): number | undefined {
  if (value instanceof JsonFloat) return value.value
  return typeof value === "number" || typeof value === "bigint" ? Number(value) : undefined
}

function fieldsOf(value: object, nulls: NullFields): Map<unknown, unknown> {
  const fields = new Map<unknown, unknown>()
  for (const [key, field] of entriesOf(value)) if (isField(field, nulls)) fields.set(key, field)
  return fields
}
