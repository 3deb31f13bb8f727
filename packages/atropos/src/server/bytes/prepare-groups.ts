import { hash } from "node:crypto"
import { checkGroup } from "./exact/exact-group.ts"
import { nextEntry, skipValue } from "./json/json-walk.ts"
import { skipSpace } from "./json/json-check.ts"
import { type Problem, describeInput, maxProblems, refuseProblems } from "./json/problems.ts"
import { findJsonFault, readBodyText } from "./json/read-body.ts"
import type { IngestLimits, IngestRequest, IngestResult, PreparedGroup } from "./prepared-group.ts"
import { deflateSegment } from "./segment.ts"

/** From a body as it came to groups as they are stored. Synchronous: it runs in a worker or, for small bodies, inline. */
export function prepareGroups(request: IngestRequest, limits: IngestLimits): IngestResult {
  // The reference's clients retry with the same bytes, so the bytes as they came tell a retry.
  const digest = hash("sha1", request.body, "base64url")
  const text = readBodyText(request, limits.inflatedBytes)
  if (!text.ok) return text
  const fault = findJsonFault(text.bytes, limits.nesting)
  if (fault !== null) return { ok: false, refusal: fault }

  const groups: PreparedGroup[] = []
  const problems: Problem[] = []
  for (const { start, end, path } of findGroups(text.bytes, request.kind, problems)) {
    const checked = checkGroup(text.bytes, start, end, path, limits.sequencesPerGroup)
    if (Array.isArray(checked)) problems.push(...checked)
    else if (problems.length === 0) {
      const { size, envId, tokens, json } = checked
      groups.push({ size, envId, tokens, ...deflateSegment(json) })
    }
    if (problems.length >= maxProblems) break
  }
  if (problems.length > 0) return { ok: false, refusal: refuseProblems(problems) }
  return { ok: true, groups, digest }
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
