import type { ServerResponse } from "node:http"

import type { FastifyReply, FastifyRequest } from "fastify"

import { type Frame, GzipStitcher, IdentityStitcher, stitchedLength, type Stitcher } from "../bytes/stitch/stitch.ts"
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
    if (!(await writer.write(stitcher.begin()))) return false
    for (let index = 0; index < ids.length; index += 1) {
      const payload = first[index] ?? (await reads.next())
      if (!(await writer.write(await stitcher.add(payload)))) return false
    }
    if (!(await writer.write(stitcher.end()))) return false
    return await writer.end()
  } catch (error) {
    writer.cut()
    throw error
  }
}

/** Reads groups in their order, some ahead of the one that is asked for. */
class ReadAhead {
  readonly #store: Store
  readonly #ids: readonly number[]
  readonly #reads: Promise<Payload>[] = []
  #next = 0

  constructor(store: Store, ids: readonly number[]) {
    this.#store = store
    this.#ids = ids
  }

  async next(): Promise<Payload> {
    while (this.#reads.length <= readAhead && this.#next < this.#ids.length) {
      const payload = this.#store.read(this.#ids[this.#next++] ?? 0)
      // Its turn comes later; a failure until then is told when it comes.
      payload.catch(() => {})
      this.#reads.push(payload)
    }
    const read = this.#reads.shift()
    if (read === undefined) throw new RangeError("every group has been read")
    return read
  }
}
