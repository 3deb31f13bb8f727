import { type Codec, maxFreeFormDepth } from "./codec.ts"
import { digestBody } from "./digest.ts"
import { checkGroup } from "./exact/exact-group.ts"
import { skipSpace } from "./json/json-check.ts"
import { nextEntry, skipValue } from "./json/json-walk.ts"
import { describeInput, maxProblems, type Problem, refuseProblems } from "./json/problems.ts"
import { findJsonFault, readBodyText } from "./json/read-body.ts"
import type { IngestLimits, IngestResult, PreparedGroup, PrepareRequest } from "./prepared-group.ts"
import { createJsCodec } from "./scan/js-codec.ts"

/** Texts above this are not put into WebAssembly's memory, which never shrinks. */
const maxCodecText = 64 * 1024 * 1024

/** A free-form value may stand this deep in a body: in a list of groups, a group, a list of lists. */
const levelsAboveFreeForm = 5

/** From a body as it came to groups as they are stored. Synchronous: it runs in a worker or, for small bodies, inline. */
export function prepareGroups(request: PrepareRequest, limits: IngestLimits, codec: Codec): IngestResult {
  // The reference's clients retry with the same bytes, so the bytes as they came tell a retry.
  const inflated: { text: Uint8Array | null } = { text: null }
  const digest = digestBody(request.body)
  const fastLimit = Math.min(limits.inflatedBytes, maxCodecText)
  const inflateFast = (body: Uint8Array): Uint8Array | null => (inflated.text = codec.inflate(body, fastLimit))
  const text = readBodyText({ ...request, list: request.kind === "list" }, limits.inflatedBytes, inflateFast)
  if (!text.ok) return text
  const { bytes } = text
  const usedCodec = bytes.length > maxCodecText ? createJsCodec() : codec
  if (bytes !== inflated.text) usedCodec.load(bytes)
  const groups = scanGroups(bytes, request, limits, usedCodec)
  if (groups !== null) return { ok: true, groups, digest }
  // The codec's memory is used again from here on.
  const own = bytes === inflated.text ? bytes.slice() : bytes
  return checkGroups(own, request, limits, usedCodec, digest)
}

/** The fast way, for bodies that are plainly right from beginning to end; the codec has loaded them. */
function scanGroups(
  bytes: Uint8Array,
  { kind, room }: PrepareRequest,
  limits: IngestLimits,
  codec: Codec,
): PreparedGroup[] | null {
  if (limits.nesting < maxFreeFormDepth + levelsAboveFreeForm) return null
  const groups: PreparedGroup[] = []
  const takeGroup = (start: number): number => {
    const scanned = codec.scan(start)
    if (scanned === null || scanned.size > limits.sequencesPerGroup) return -1
    const { size, envId, tokens, end } = scanned
    groups.push({ size, envId, tokens, ...codec.encodeScanned(kind === "one" ? room : undefined) })
    return end
  }
  let position = skipSpace(bytes, 0)
  if (kind === "one") position = takeGroup(position)
  else {
    if (bytes[position] !== 0x5b) return null
    position = skipSpace(bytes, position + 1)
    if (bytes[position] !== 0x5d) {
      for (;;) {
        position = takeGroup(position)
        if (position < 0) return null
        position = skipSpace(bytes, position)
        if (bytes[position] !== 0x2c) break
        position = skipSpace(bytes, position + 1)
      }
    }
    if (bytes[position] !== 0x5d) return null
    position += 1
  }
  return position >= 0 && skipSpace(bytes, position) === bytes.length ? groups : null
}

/** The exact way, for everything else. */
function checkGroups(
  bytes: Uint8Array,
  { kind, room }: PrepareRequest,
  limits: IngestLimits,
  codec: Codec,
  digest: string,
): IngestResult {
  const fault = findJsonFault(bytes, limits.nesting)
  if (fault !== null) return { ok: false, refusal: fault }
  const groups: PreparedGroup[] = []
  const problems: Problem[] = []
  for (const { start, end, path } of findGroups(bytes, kind, problems)) {
    const checked = checkGroup(bytes, start, end, path, limits.sequencesPerGroup)
    if (Array.isArray(checked)) problems.push(...checked)
    else if (problems.length === 0) {
      const { size, envId, tokens, json } = checked
      groups.push({ size, envId, tokens, ...codec.encode(json, kind === "one" ? room : undefined) })
    }
    if (problems.length >= maxProblems) break
  }
  return problems.length > 0 ? { ok: false, refusal: refuseProblems(problems) } : { ok: true, groups, digest }
}

function* findGroups(
  bytes: Uint8Array,
  kind: "one" | "list",
  problems: Problem[],
): Generator<{ start: number; end: number; path: (string | number)[] }> {
  const start = skipSpace(bytes, 0)
  if (kind === "one") {
    yield { start, end: skipValue(bytes, start), path: ["body"] }
    return
  }
  if (bytes[start] !== 0x5b) {
    const input = describeInput(bytes, start, skipValue(bytes, start))
    problems.push({ type: "list_type", loc: ["body"], msg: "Input should be a valid list of groups", input })
    return
  }
  let position = start + 1
  for (let index = 0; ; index += 1) {
    const entry = nextEntry(bytes, position)
    if (entry < 0) return
    position = skipValue(bytes, entry)
    yield { start: entry, end: position, path: ["body", index] }
  }
}
