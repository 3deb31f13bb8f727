import { crc32 } from "node:zlib"

const hasHeaderCrc = 2
const hasExtra = 4
const hasName = 8
const hasComment = 16
const reserved = 0xe0

/** Where the deflate stream of the gzip member at `start` begins, or -1 when its header is not right. */
export function skipGzipHeader(bytes: Uint8Array, start: number): number {
  const flags = bytes[start + 3] ?? reserved
  if (bytes[start] !== 0x1f || bytes[start + 1] !== 0x8b || bytes[start + 2] !== 8 || (flags & reserved) !== 0)
    return -1
  let position = start + 10
  if ((flags & hasExtra) !== 0) position += 2 + readUint16(bytes, position)
  for (const text of [hasName, hasComment]) {
    if ((flags & text) === 0) continue
    const end = bytes.indexOf(0, position)
    if (end < 0) return -1
    position = end + 1
  }
  if ((flags & hasHeaderCrc) !== 0) {
    if ((crc32(bytes.subarray(start, position)) & 0xffff) !== readUint16(bytes, position)) return -1
    position += 2
  }
  return position < bytes.length ? position : -1
}

function readUint16(bytes: Uint8Array, position: number): number {
  return (bytes[position] ?? 0) + (bytes[position + 1] ?? 0) * 256
}
