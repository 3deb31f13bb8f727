import { gunzipSync } from "node:zlib"
import { refuseBody } from "./json/problems.ts"
import type { Refusal } from "./prepared-group.ts"

/** Deflate cannot shrink data more than this. */
const maxDeflateRatio = 1032

/** Members with zeros between them start zlib anew; nobody has a reason to send this many. */
const maxParts = 256

const invalidGzip: Refusal = {
  status: 400,
  contentType: "text/plain",
  body: "Invalid gzip payload",
  reason: "gzip_invalid",
}

/**
 * Inflates a gzip body of one or several members; zero bytes may follow each. Stops as soon as `limit` bytes
 * are exceeded, so a bomb costs no more than the limit.
 */
export function inflateGzip(body: Uint8Array, limit: number): Uint8Array | Refusal {
  try {
    const parts: Uint8Array[] = []
    let inflated = 0
    for (let rest = body; rest.length > 0; rest = withoutLeadingZeros(rest)) {
      if (parts.length === maxParts) return invalidGzip
      // One buffer of the right size from the start is half again as fast as growing by chunks.
      const chunkSize = parts.length === 0 ? Math.min(claimedSize(body) ?? 0, limit) + 64 : 64 * 1024
      const { buffer, engine } = inflateWithInfo(rest, limit - inflated, chunkSize)
      parts.push(buffer)
      inflated += buffer.length
      rest = rest.subarray(engine.bytesWritten)
    }
    return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ERR_BUFFER_TOO_LARGE") {
      return refuseBody(
        413,
        `The body inflates to more than ${limit} bytes; send smaller groups or raise --max-inflated`,
        "inflated_too_large",
      )
    }
    return invalidGzip
  }
}

function inflateWithInfo(
  body: Uint8Array,
  limit: number,
  chunkSize: number,
): { buffer: Uint8Array; engine: { bytesWritten: number } } {
  // `info` makes zlib say how much of the input it used; the type declarations do not know it.
  const options = { chunkSize, maxOutputLength: limit, info: true }
  return gunzipSync(body, options) as unknown as { buffer: Uint8Array; engine: { bytesWritten: number } }
}

/** Zeros may stand behind a member; zlib goes on to the next one only when there are none. */
function withoutLeadingZeros(bytes: Uint8Array): Uint8Array {
  const start = bytes.findIndex((byte) => byte !== 0)
  return start < 0 ? bytes.subarray(bytes.length) : bytes.subarray(start)
}

/**
 * The size that a gzip body says it has, in its last member's length field; null when that cannot be true. Several
 * members together may have more.
 */
export function claimedSize(body: Uint8Array): number | null {
  if (body.byteLength < 18) return null
  const claimed = new DataView(body.buffer, body.byteOffset + body.byteLength - 4, 4).getUint32(0, true)
  return claimed > body.byteLength * maxDeflateRatio ? null : claimed
}
