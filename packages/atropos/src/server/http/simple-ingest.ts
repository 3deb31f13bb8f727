import { createHash } from "node:crypto"
import { crc32, deflateRawSync, gunzipSync, constants } from "node:zlib"

import { scoredGroup } from "../../protocol/messages.ts"
import type { Ingest, IngestRequest, IngestResult, PreparedGroup } from "../bytes/prepared-group.ts"

const keys = Object.keys(scoredGroup.shape)

/** Parses and checks bodies in the calling thread. */
export const simpleIngest: Ingest = {
  async ingest(request: IngestRequest): Promise<IngestResult> {
    const value: unknown = JSON.parse(Buffer.from(request.gzip ? gunzipSync(request.body) : request.body).toString())
    const groups: PreparedGroup[] = []
    for (const item of request.kind === "one" ? [value] : (value as unknown[])) {
      const checked = scoredGroup.safeParse(item)
      if (!checked.success) {
        const issue = checked.error.issues[0]
        const detail = [{ type: "value_error", loc: ["body", ...(issue?.path ?? [])], msg: issue?.message ?? "" }]
        const body = JSON.stringify({ detail })
        return { ok: false, refusal: { status: 422, contentType: "application/json", body, reason: "value_error" } }
      }
      const group: Record<string, unknown> = checked.data
      const json = Buffer.from(JSON.stringify(Object.fromEntries(keys.map((key) => [key, group[key] ?? null]))))
      groups.push({
        size: checked.data.tokens.length,
        envId: checked.data.env_id ?? null,
        segment: deflateRawSync(json, { level: 1, finishFlush: constants.Z_SYNC_FLUSH }),
        crc32: crc32(json),
        jsonBytes: json.length,
        tokens: checked.data.tokens.reduce((sum, sequence) => sum + sequence.length, 0),
      })
    }
    return { ok: true, groups, digest: createHash("sha256").update(request.body).digest("base64") }
  },
  async close() {},
}
