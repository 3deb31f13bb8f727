import type { ServerResponse } from "node:http"

import type { FastifyReply, FastifyRequest } from "fastify"

import { type Frame, GzipStitcher, IdentityStitcher, stitchedLength, type Stitcher } from "../bytes/stitch/stitch.ts"
import type { Piece } from "../bytes/stitch/coalesce.ts"
import type { Payload, Store } from "../stores/store.ts"
import { acceptsGzip, leastCompressedBytes, varyByEncoding } from "./answers.ts"
import { ResponseWriter } from "./response-writer.ts"

export interface GroupsAnswer {
  readonly ids: readonly number[]
  /** Bytes of each stored group, if they are known beforehand. */
  readonly segmentBytes?: readonly number[]
  readonly frame: Frame
  readonly store: Store
  /** For how long the client may take nothing. */
  readonly stallMs: number
  /** Aborted when the rest must not be written. */
  readonly signal?: AbortSignal
}

/** Groups that are read from the store ahead of the one being written. */
const readAhead = 4
/** Groups that go out before the reader is looked at again: small ones are copied, which takes memory and time. */
const groupsAtOnce = 256

/**
 * Sends stored groups as they are, at the pace at which the client takes them. Resolves to whether the answer was
 * written in full. Rejects, with nothing written, when the first groups can not be read.
 */
export async function sendGroups(request: FastifyRequest, reply: FastifyReply, answer: GroupsAnswer): Promise<boolean> {
  const { ids, frame } = answer
  const reads = new ReadAhead(answer.store, ids)
  const first: Payload[] = []
  let jsonBytes = frame.before.length + frame.after.length + Math.max(0, ids.length - 1)
  while (first.length < ids.length && jsonBytes < leastCompressedBytes) {
    const payload = await reads.next()
    first.push(payload)
    jsonBytes += payload.jsonBytes
  }
  const compressed = jsonBytes >= leastCompressedBytes && acceptsGzip(request)
  const isWhole = first.length === ids.length
  const segmentBytes = isWhole ? first.map(({ segment }) => segment.length) : answer.segmentBytes
  const response = reply.raw
  varyByEncoding(reply)
  reply.hijack()
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) response.setHeader(name, value)
  }
  response.setHeader("content-type", "application/json")
  if (compressed) response.setHeader("content-encoding", "gzip")
  if (!compressed && isWhole) response.setHeader("content-length", jsonBytes)
  if (compressed && segmentBytes !== undefined) {
    response.setHeader("content-length", stitchedLength(segmentBytes, frame))
  }
  const stitcher = compressed ? new GzipStitcher(frame) : new IdentityStitcher(frame)
  return writeAll(response, stitcher, first, reads, answer)
}

async function writeAll(
  response: ServerResponse,
  stitcher: Stitcher,
  first: readonly Payload[],
  reads: ReadAhead,
  { ids, stallMs, signal }: GroupsAnswer,
): Promise<boolean> {
  const writer = new ResponseWriter(response, stallMs, signal)
  try {
    let pieces: Piece[] = []
    stitcher.begin(pieces)
    for (let index = 0; index < ids.length; index += 1) {
      const read = first[index] ?? reads.next()
      if (read instanceof Promise || stitcher.takesMemory || index % groupsAtOnce === 0) {
        // Not before the reader has taken most of what is there; what the store holds anyway may wait at the connection.
        if (!writer.write(pieces) || !(await writer.room())) return false
        pieces = []
      }
      const added = stitcher.add(pieces, read instanceof Promise ? await read : read)
      if (added !== undefined) await added
    }
    stitcher.end(pieces)
    return writer.write(pieces) && (await writer.end())
  } catch (error) {
    writer.cut()
    throw error
  }
}

/** Reads groups in their order, some ahead of the one that is asked for. */
class ReadAhead {
  readonly #store: Store
  readonly #ids: readonly number[]
  readonly #reads: (Payload | Promise<Payload>)[] = []
  #next = 0

  constructor(store: Store, ids: readonly number[]) {
    this.#store = store
    this.#ids = ids
  }

  next(): Payload | Promise<Payload> {
    while (this.#reads.length <= readAhead && this.#next < this.#ids.length) {
      this.#reads.push(this.#read(this.#ids[this.#next++] ?? 0))
    }
    const read = this.#reads.shift()
    if (read === undefined) throw new RangeError("every group has been read")
    return read
  }

  #read(id: number): Payload | Promise<Payload> {
    const held = this.#store.readHeld?.(id) ?? null
    if (held !== null) return held
    const payload = this.#store.read(id)
    // Its turn comes later; a failure until then is told when it comes.
    payload.catch(() => {})
    return payload
  }
}
