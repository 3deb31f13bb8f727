import { gunzipSync } from "node:zlib"
import { refuseBody } from "./json/problems.ts"
import type { Refusal } from "./prepared-group.ts"

/** Deflate cannot shrink data more than this. */
const maxDeflateRatio = 1032

const invalidGzip: Refusal = {
  status: 400,
  contentType: "text/plain",
  body: "Invalid gzip payload",
  reason: "gzip_invalid",
}

/**
 * Inflates a gzip body of one or several members; zero bytes may follow the last one. Stops as soon as `limit` bytes
 * are exceeded, so a bomb costs no more than the limit.
 */
export function inflateGzip(body: Uint8Array, limit: number): Uint8Array | Refusal {
  try {
    // One buffer of the right size from the start is half again as fast as growing by chunks.
    const { buffer, engine } = inflateWithInfo(body, limit, expectedSize(body, limit))
    return body.subarray(engine.bytesWritten).every((byte) => byte === 0) ? buffer : invalidGzip
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

/** The last member's length field, as far as it can be true, and room to see the end in one go. */
function expectedSize(body: Uint8Array, limit: number): number {
  const at = body.byteLength - 4
  if (at < 0) return 64
  const claimed = new DataView(body.buffer, body.byteOffset + at, 4).getUint32(0, true)
  return Math.max(64, Math.min(claimed, limit, body.byteLength * maxDeflateRatio) + 64)
}
