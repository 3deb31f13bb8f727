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

/** Puts an answer together from stored groups: what can be written by now, call by call, in order. */
export interface Stitcher {
  begin(): Piece[]
  add(payload: Payload): Piece[] | Promise<Piece[]>
  end(): Piece[]
}

const comma = Buffer.from(",")

/**
 * An answer as one gzip member, from groups that were compressed when they came: the segments go out as they are, and
 * what stands around them in stored blocks. Nothing is compressed and nothing is inflated.
 */
export class GzipStitcher implements Stitcher {
  readonly #frame: Frame
  readonly #small = new Coalescer()
  #crc = 0
  #bytes = 0
  #isFirst = true

  constructor(frame: Frame) {
    this.#frame = frame
  }

  begin(): Piece[] {
    const before = Buffer.from(this.#frame.before)
    this.#crc = crc32(before)
    this.#bytes = before.length
    const pieces = this.#small.push(gzipHeader)
    return before.length === 0 ? pieces : [...pieces, ...this.#small.push(storedBlock(before, false))]
  }

  add({ segment, crc32: crc, jsonBytes, free }: Payload): Piece[] {
    const pieces: Piece[] = []
    if (!this.#isFirst) {
      this.#crc = crc32(comma, this.#crc)
      this.#bytes += comma.length
      pieces.push(...this.#small.push(commaBlock))
    }
    this.#isFirst = false
    this.#crc = combineCrc32(this.#crc, crc, jsonBytes)
    this.#bytes += jsonBytes
    pieces.push(...this.#small.push(segment, free))
    return pieces
  }

  end(): Piece[] {
    const after = Buffer.from(this.#frame.after)
    const trailer = Buffer.alloc(8)
    trailer.writeUInt32LE(crc32(after, this.#crc), 0)
    trailer.writeUInt32LE((this.#bytes + after.length) % 2 ** 32, 4)
    return [...this.#small.push(storedBlock(after, true)), ...this.#small.push(trailer), ...this.#small.flush()]
  }
}

/** The same answer for a client that takes no gzip. */
export class IdentityStitcher implements Stitcher {
  readonly #frame: Frame
  readonly #small = new Coalescer()
  #isFirst = true

  constructor(frame: Frame) {
    this.#frame = frame
  }

  begin(): Piece[] {
    return this.#small.push(Buffer.from(this.#frame.before))
  }

  async add(payload: Payload): Promise<Piece[]> {
    const json = await inflateSegment(payload)
    payload.free?.()
    const before = this.#isFirst ? [] : this.#small.push(comma)
    this.#isFirst = false
    return [...before, ...this.#small.push(json)]
  }

  end(): Piece[] {
    return [...this.#small.push(Buffer.from(this.#frame.after)), ...this.#small.flush()]
  }
}

/** The bytes of the gzip answer, known before its first is read. */
export function stitchedLength(segmentLengths: readonly number[], frame: Frame): number {
  const before = frame.before === "" ? 0 : blockHeaderLength + frame.before.length
  const commas = Math.max(0, segmentLengths.length - 1) * (blockHeaderLength + comma.length)
  const segments = segmentLengths.reduce((sum, length) => sum + length, 0)
  return gzipHeader.length + before + segments + commas + blockHeaderLength + frame.after.length + 8
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
const commaBlock = storedBlock(comma, false)

/** A stored block of at most 65,535 bytes that starts, and so ends, on a byte boundary. */
function storedBlock(data: Uint8Array, last: boolean): Uint8Array {
  const block = Buffer.alloc(blockHeaderLength + data.length)
  block[0] = last ? 1 : 0
  block.writeUInt16LE(data.length, 1)
  block.writeUInt16LE(data.length ^ 0xffff, 3)
  block.set(data, blockHeaderLength)
  return block
}
