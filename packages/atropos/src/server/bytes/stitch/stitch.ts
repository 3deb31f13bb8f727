import { crc32, inflateRaw } from "node:zlib"
import { promisify } from "node:util"
import type { Payload } from "../../stores/store.ts"
import { Coalescer, type Piece } from "./coalesce.ts"
import { combineCrc32 } from "./crc32-combine.ts"

/** What stands around the groups of an answer; between them stands a comma. */
export interface Frame {
  before: string
  after: string
}

export const batchFrame: Frame = { before: '{"batch":[', after: "]}" }

/** One group alone. */
export const bareFrame: Frame = { before: "", after: "" }

const comma = Buffer.from(",")

/**
 * An answer as one gzip member, from groups that were compressed when they came: the segments go out as they are, and
 * what stands around them in stored blocks. Nothing is compressed and nothing is inflated.
 */
export async function* stitchGzip(payloads: AsyncIterable<Payload>, frame: Frame): AsyncGenerator<Piece> {
  const small = new Coalescer()
  let crc = 0
  let bytes = 0
  let first = true
  const add = (json: Uint8Array): Uint8Array => {
    crc = crc32(json, crc)
    bytes += json.length
    return storedBlock(json, false)
  }
  yield* small.push(gzipHeader)
  if (frame.before !== "") yield* small.push(add(Buffer.from(frame.before)))
  for await (const payload of payloads) {
    if (!first) yield* small.push(add(comma))
    first = false
    crc = combineCrc32(crc, payload.crc32, payload.jsonBytes)
    bytes += payload.jsonBytes
    yield* small.push(payload.segment, payload.free)
  }
  const after = Buffer.from(frame.after)
  crc = crc32(after, crc)
  bytes += after.length
  yield* small.push(storedBlock(after, true))
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc, 0)
  trailer.writeUInt32LE(bytes % 2 ** 32, 4)
  yield* small.push(trailer)
  yield* small.flush()
}

/** The bytes of the gzip answer, known before its first is read. */
export function stitchedLength(segmentLengths: readonly number[], frame: Frame): number {
  const before = frame.before === "" ? 0 : blockHeaderLength + frame.before.length
  const commas = Math.max(0, segmentLengths.length - 1) * (blockHeaderLength + comma.length)
  const segments = segmentLengths.reduce((sum, length) => sum + length, 0)
  return gzipHeader.length + before + segments + commas + blockHeaderLength + frame.after.length + 8
}

/** The same answer for a client that takes no gzip. */
export async function* stitchIdentity(payloads: AsyncIterable<Payload>, frame: Frame): AsyncGenerator<Piece> {
  const small = new Coalescer()
  let first = true
  yield* small.push(Buffer.from(frame.before))
  for await (const payload of payloads) {
    if (!first) yield* small.push(comma)
    first = false
    const json = await inflateSegment(payload)
    payload.free?.()
    yield* small.push(json)
  }
  yield* small.push(Buffer.from(frame.after))
  yield* small.flush()
}

const inflateRawAsync = promisify(inflateRaw)

/** The canonical JSON of a stored group. */
export async function inflateSegment(payload: Payload): Promise<Uint8Array> {
  // The end block makes the segment a whole stream, so that a damaged one is an error instead of a short text.
  const stream = Buffer.concat([payload.segment, storedBlock(new Uint8Array(), true)])
  return inflateRawAsync(stream, { chunkSize: Math.max(64, payload.jsonBytes + 64) })
}

// Magic, deflate, no flags, no time, no level, unknown system.
const gzipHeader = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255])
const blockHeaderLength = 5

/** A stored block of at most 65,535 bytes that starts, and so ends, on a byte boundary. */
function storedBlock(data: Uint8Array, last: boolean): Uint8Array {
  const block = Buffer.alloc(blockHeaderLength + data.length)
  block[0] = last ? 1 : 0
  block.writeUInt16LE(data.length, 1)
  block.writeUInt16LE(data.length ^ 0xffff, 3)
  block.set(data, blockHeaderLength)
  return block
}
