import { findDetailDifference } from "../../suites/wire/compare.ts"
import type { WireAnswer } from "../../suites/wire/exchange.ts"
import {
  isLiteralNumber,
  isLiteralObject,
  type LiteralJson,
  type LiteralObject,
  parseLiteralJson,
  writeLiteralJson,
} from "../../suites/wire/literal-json.ts"

/** What our answers have in addition (shared by all calls). */
const additions = ["reason", "status", "batch_id"]

/** The first difference of our answer from the original's, or null. Floats are floats in both, integers integers. */
export function findAnswerDifference(theirs: WireAnswer, ours: WireAnswer): string | null {
  if (theirs.status !== ours.status) return `status: theirs ${theirs.status}, ours ${ours.status}`
  const [their, our] = [typeOf(theirs), typeOf(ours)]
  if (their !== our) return `content-type: theirs ${their}, ours ${our}`
  if (their !== "application/json") return theirs.text === ours.text ? null : "text"
  const [theirJson, ourJson] = [parseLiteralJson(theirs.text), parseLiteralJson(ours.text)]
  if (theirs.status === 422 && isLiteralObject(theirJson) && isLiteralObject(ourJson)) {
    const detail = theirJson.entries.get("detail")
    if (Array.isArray(detail)) return findDetailDifference(detail, ourJson.entries.get("detail"))
  }
  return findJsonDifference(theirJson, ourJson, "$")
}

function findJsonDifference(theirs: LiteralJson, ours: LiteralJson | undefined, path: string): string | null {
  const different = `${path}: theirs ${brief(theirs)}, ours ${ours === undefined ? "nothing" : brief(ours)}`
  if (ours === undefined) return different
  if (Array.isArray(theirs)) {
    if (!Array.isArray(ours) || ours.length !== theirs.length) return different
    return first(theirs, (item, index) => findJsonDifference(item, ours[index], `${path}[${index}]`))
  }
  if (isLiteralObject(theirs)) {
    if (!isLiteralObject(ours)) return different
    const more = [...ours.entries.keys()].find(
      (key) => !theirs.entries.has(key) && !(path === "$" && additions.includes(key)),
    )
    if (more !== undefined) return `${path}.${more}: ours alone`
    return first([...theirs.entries], ([key, item]) => findFieldDifference(theirs, key, item, ours, path))
  }
  if (isLiteralNumber(theirs))
    return isLiteralNumber(ours) && isSameNumber(theirs.literal, ours.literal) ? null : different
  return theirs === ours ? null : different
}

function findFieldDifference(
  theirs: LiteralObject,
  key: string,
  item: LiteralJson,
  ours: LiteralObject,
  path: string,
): string | null {
  const our = ours.entries.get(key)
  // Random, and another one each time.
  if (path === "$" && key === "uuid" && theirs.entries.size === 1) {
    return our !== undefined && our !== null && isLiteralNumber(our) && /^\d{1,39}$/.test(our.literal)
      ? null
      : "$.uuid: ours is no integer of 128 bits"
  }
  return findJsonDifference(item, our, `${path}.${key}`)
}

function isSameNumber(theirs: string, ours: string): boolean {
  if (theirs === ours) return true
  const isFloat = (literal: string): boolean => /[.eE]/.test(literal)
  if (isFloat(theirs) !== isFloat(ours)) return false
  // Integers are exact at any size; floats are what a double holds.
  return isFloat(theirs) ? Number(theirs) === Number(ours) : BigInt(theirs) === BigInt(ours)
}

function typeOf({ headers }: WireAnswer): string {
  return String(headers["content-type"]).split(";")[0]?.trim() ?? ""
}

function brief(value: LiteralJson): string {
  return writeLiteralJson(value).slice(0, 300)
}

function first<Item>(items: readonly Item[], find: (item: Item, index: number) => string | null): string | null {
  for (const [index, item] of items.entries()) {
    const found = find(item, index)
    if (found !== null) return found
  }
  return null
}
