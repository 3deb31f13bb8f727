import { readdirSync, readFileSync } from "node:fs"
import { gzipSync, inflateRawSync, crc32, constants } from "node:zlib"
import { describe, expect, test } from "vitest"
import { createIngest } from "./ingest.ts"
import type { IngestResult } from "./prepared-group.ts"

const vectors = new URL("../../../../../conformance/vectors/wire/", import.meta.url)
const limits = { inflatedBytes: 1 << 24, nesting: 400, sequencesPerGroup: 65_536 }

interface Step {
  request: {
    method: string
    path: string
    json?: unknown
    text?: string
    base64?: string
    gzip?: boolean
    headers?: Record<string, string | null>
  }
  response: { status: number; json?: { detail?: unknown }; text?: string }
}

// The rules about one body alone; those about batches and buffers need a server.
const files = readdirSync(vectors).filter((name) =>
  /^(group-|json-|gzip-bodies|messages|content-types|scored)/.test(name),
)

describe("pushes of the wire transcripts", () => {
  const ingest = createIngest(limits)
  for (const file of files) {
    test(file, async () => {
      const { steps } = JSON.parse(readFileSync(new URL(file, vectors), "utf8")) as { steps: Step[] }
      for (const [index, { request, response }] of steps.entries()) {
        if (!request.path.startsWith("/scored_data")) continue
        const expected = expectedFaults(response)
        if (expected.some((fault) => fault.startsWith("too_long"))) continue
        const headers = Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
        const header = Object.fromEntries(headers) as Record<string, string | null | undefined>
        const type = "content-type" in header ? header["content-type"] : "application/json"
        let body = Buffer.from(
          request.base64 ?? request.text ?? JSON.stringify(request.json),
          request.base64 === undefined ? "utf8" : "base64",
        )
        if (request.gzip === true) body = gzipSync(body)
        const result = await ingest.ingest({
          kind: request.path === "/scored_data" ? "one" : "list",
          body,
          gzip: request.gzip === true || header["content-encoding"]?.toLowerCase() === "gzip",
          json: /^application\/(.+\+)?json(;|$)/i.test(type ?? ""),
        })
        const status = result.ok ? 200 : result.refusal.status
        expect({ index, status, faults: foundFaults(result) }).toEqual({
          index,
          status: response.status,
          faults: expected,
        })
        if (!result.ok) {
          if (response.text !== undefined) expect(result.refusal.body).toBe(response.text)
          continue
        }
        for (const group of result.groups) {
          const json = inflateRawSync(group.segment, { finishFlush: constants.Z_SYNC_FLUSH })
          expect(crc32(json)).toBe(group.crc32)
          expect(json.length).toBe(group.jsonBytes)
          const content = JSON.parse(json.toString("utf8")) as Record<string, unknown>
          expect(Object.keys(content)).toHaveLength(14)
          expect(content["tokens"]).toHaveLength(group.size)
        }
      }
    })
  }
})

function expectedFaults(response: Step["response"]): string[] {
  if (response.status !== 422) return []
  const detail = response.json?.detail as { type: unknown; loc: unknown[] }[]
  return detail.map(({ type, loc }) => name(type, loc)).toSorted()
}

function foundFaults(result: IngestResult): string[] {
  if (result.ok || result.refusal.status !== 422) return []
  return (JSON.parse(result.refusal.body) as { detail: { type: unknown; loc: unknown[] }[] }).detail
    .map(({ type, loc }) => name(type, loc))
    .toSorted()
}

// Transcripts leave the type of a refused message open and may name a wider place than we do.
function name(type: unknown, loc: unknown[]): string {
  if (loc[1] === "messages") return "messages"
  if (loc.some((part) => typeof part === "object")) return String(type)
  return type === "json_invalid" ? "json_invalid" : `${String(type)} ${JSON.stringify(loc)}`
}
