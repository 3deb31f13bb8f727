import { constants, crc32, deflateRawSync } from "node:zlib"

/** Canonical JSON as one raw-deflate segment that ends on a byte boundary without a final block. */
export interface Segment {
  segment: Uint8Array
  crc32: number
  jsonBytes: number
}

export function deflateSegment(json: Uint8Array): Segment {
  const segment = deflateRawSync(json, { level: 1, finishFlush: constants.Z_SYNC_FLUSH })
  return { segment, crc32: crc32(json), jsonBytes: json.length }
}
