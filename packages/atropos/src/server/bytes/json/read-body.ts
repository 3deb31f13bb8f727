import { isUtf8 } from "node:buffer"
import { inflateGzip } from "../inflate.ts"
import type { Refusal } from "../prepared-group.ts"
import { checkJson, JsonBoundError, JsonSyntaxError } from "./json-check.ts"
import { readText } from "./json-walk.ts"
import { describeInput, refuseBody, refuseProblems } from "./problems.ts"

export interface BodyToRead {
  body: Uint8Array
  gzip: boolean
  /** Content-Type is JSON. */
  json: boolean
  /** The call takes a list. @default false */
  list?: boolean
}

export type BodyText = { ok: true; bytes: Uint8Array } | { ok: false; refusal: Refusal }

/**
 * The body as UTF-8 text without a byte order mark, or why it is none. Whether it is JSON is not looked at.
 * `inflateFast` may inflate a body that is plainly right, and says null to others.
 */
export function readBodyText(
  request: BodyToRead,
  inflatedBytes: number,
  inflateFast: (body: Uint8Array) => Uint8Array | null = () => null,
): BodyText {
  let bytes = request.body
  if (request.gzip && bytes.length > 0) {
    const inflated = inflateFast(bytes) ?? inflateGzip(bytes, inflatedBytes)
    if (!(inflated instanceof Uint8Array)) return { ok: false, refusal: inflated }
    bytes = inflated
  }
  if (bytes.length === 0) {
    return refuse("missing", "Field required: the call needs a JSON body", bytes)
  }
  if (!request.json) {
    const hint = "send Content-Type: application/json"
    if (request.list === true) return refuse("list_type", `Input should be a valid list; ${hint}`, bytes)
    const msg = `Input should be a valid dictionary or object to extract fields from; ${hint}`
    return refuse("model_attributes_type", msg, bytes)
  }
  if (!isUtf8(bytes)) {
    return {
      ok: false,
      refusal: refuseBody(400, "There was an error parsing the body: it is not UTF-8; send JSON in UTF-8", "not_utf8"),
    }
  }
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  return { ok: true, bytes: hasMark ? bytes.subarray(3) : bytes }
}

/** A body that is one JSON value, ready for walking; or the refusal. */
export function readJsonBody(request: BodyToRead, limits: { inflatedBytes: number; nesting: number }): BodyText {
  const text = readBodyText(request, limits.inflatedBytes)
  if (!text.ok) return text
  const refusal = findJsonFault(text.bytes, limits.nesting)
  return refusal === null ? text : { ok: false, refusal }
}

/** Null when the bytes are well-formed JSON. */
export function findJsonFault(bytes: Uint8Array, nesting: number): Refusal | null {
  try {
    checkJson(bytes, nesting)
    return null
  } catch (error) {
    if (error instanceof JsonBoundError) return refuseBody(400, error.message, "json_bound")
    if (!(error instanceof JsonSyntaxError)) throw error
    // The place is told in characters, as Python counts them.
    const before = readText(bytes, 0, Math.min(error.position, maxCountedBytes))
    const character = error.position > maxCountedBytes ? error.position : countCodePoints(before)
    const msg = `JSON decode error: ${error.message}`
    return refuseProblems([{ type: "json_invalid", loc: ["body", character], msg, input: "{}" }])
  }
}

/** Beyond this much text the place is told in bytes, which differs only for other scripts. */
const maxCountedBytes = 1 << 28

function countCodePoints(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}

function refuse(type: "missing" | "model_attributes_type" | "list_type", msg: string, bytes: Uint8Array): BodyText {
  const input = bytes.length === 0 ? "null" : describeInput(bytes, 0, bytes.length)
  return { ok: false, refusal: refuseProblems([{ type, loc: ["body"], msg, input }]) }
}
