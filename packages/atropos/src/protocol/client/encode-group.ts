import { AtroposError } from "../../runtime/errors.ts"
import type { ScoredGroup } from "../messages.ts"

/**
 * A group as compact JSON with all 14 keys, floats written as floats (`1.0`): what servers take without a second look.
 * Throws `group-not-json` for what JSON can not say, with its place, instead of sending null for it.
 */
export function encodeGroup(group: ScoredGroup): string {
  const parts = [
    integers("tokens", group.tokens, 2),
    integers("masks", group.masks, 2),
    floats("scores", group.scores, 1),
    floats("advantages", group.advantages, 2),
    floats("ref_logprobs", group.ref_logprobs, 2),
    freeForm("messages", group.messages),
    freeForm("generation_params", group.generation_params),
    floats("inference_logprobs", group.inference_logprobs, 2),
    freeForm("overrides", group.overrides),
    freeForm("group_overrides", group.group_overrides),
    freeForm("images", group.images),
    freeForm("env_id", group.env_id),
    integers("distill_token_ids", group.distill_token_ids, 3),
    floats("distill_logprobs", group.distill_logprobs, 3),
  ]
  return `{${parts.join(",")}}`
}

type Numbers = readonly number[] | readonly Numbers[]

function integers(name: string, value: Numbers | null | undefined, depth: number): string {
  return `"${name}":${value == null ? "null" : nested(name, value, depth, integerRow)}`
}

function floats(name: string, value: Numbers | null | undefined, depth: number): string {
  return `"${name}":${value == null ? "null" : nested(name, value, depth, floatRow)}`
}

type RowText = (row: readonly number[], path: string) => string

function nested(path: string, value: Numbers, depth: number, rowText: RowText): string {
  if (!Array.isArray(value)) throw unsendable(path, "no list")
  if (depth === 1) return rowText(value as readonly number[], path)
  const rows = (value as readonly Numbers[]).map((row, index) => nested(`${path}[${index}]`, row, depth - 1, rowText))
  return `[${rows.join(",")}]`
}

function integerRow(row: readonly number[], path: string): string {
  for (let index = 0; index < row.length; index++) {
    if (!Number.isSafeInteger(row[index])) throw unsendable(`${path}[${index}]`, `no integer: ${String(row[index])}`)
  }
  return JSON.stringify(row)
}

/** JSON.stringify is fast and writes 1.0 as 1: it gets the runs of numbers that have a fraction. */
function floatRow(row: readonly number[], path: string): string {
  const parts: string[] = []
  let fractions = 0
  for (let index = 0; index <= row.length; index++) {
    const number = row[index]
    if (index < row.length) {
      if (!Number.isFinite(number)) throw unsendable(`${path}[${index}]`, `no finite number: ${String(number)}`)
      if (!Number.isInteger(number)) continue
    }
    if (index > fractions) parts.push(JSON.stringify(row.slice(fractions, index)).slice(1, -1))
    if (number !== undefined) parts.push(wholeFloat(number))
    fractions = index + 1
  }
  return `[${parts.join(",")}]`
}

function wholeFloat(number: number): string {
  // From 1e21 on JavaScript writes an exponent, which makes a float of it already.
  if (Math.abs(number) >= 1e21) return String(number)
  return Object.is(number, -0) ? "-0.0" : `${number}.0`
}

function freeForm(name: string, value: unknown): string {
  try {
    const text: string | undefined = JSON.stringify(value, (key, inner: unknown) => {
      if (typeof inner !== "number" || Number.isFinite(inner)) return inner
      throw unsendable(name, `no finite number: ${inner} under ${JSON.stringify(key)}`)
    })
    return `"${name}":${text ?? "null"}`
  } catch (error) {
    if (error instanceof AtroposError) throw error
    throw unsendable(name, error instanceof Error ? error.message : String(error))
  }
}

function unsendable(path: string, reason: string): AtroposError {
  return new AtroposError("group-not-json", `The group can not be sent: ${path} is ${reason}.`, { facts: { path } })
}
