import type { ServerResponse } from "node:http"

import type { FastifyReply, FastifyRequest } from "fastify"

import type { Piece } from "../bytes/stitch/coalesce.ts"
import { type Frame, stitchedLength, stitchGzip, stitchIdentity } from "../bytes/stitch/stitch.ts"
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
  const rest = readInOrder(answer.store, ids)
  const first: Payload[] = []
  let jsonBytes = frame.before.length + frame.after.length + Math.max(0, ids.length - 1)
  while (first.length < ids.length && jsonBytes < leastCompressedBytes) {
    const next = await rest.next()
    if (next.done === true) break
    first.push(next.value)
    jsonBytes += next.value.jsonBytes
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
  const payloads = chain(first, rest)
  const pieces = compressed ? stitchGzip(payloads, frame) : stitchIdentity(payloads, frame)
  return writeAll(response, pieces, answer)
}

async function writeAll(
  response: ServerResponse,
  pieces: AsyncIterable<Piece>,
  { stallMs, signal }: GroupsAnswer,
): Promise<boolean> {
  const writer = new ResponseWriter(response, stallMs, signal)
  try {
    for await (const piece of pieces) if (!(await writer.write(piece))) return false
    return await writer.end()
  } catch (error) {
    writer.cut()
    throw error
  }
}

async function* readInOrder(store: Store, ids: readonly number[]): AsyncGenerator<Payload> {
  const ahead: Promise<Payload>[] = []
  let next = 0
  const read = (): void => {
    const id = ids[next++]
    if (id === undefined) return
    const payload = store.read(id)
    // Its turn comes later; a failure until then is told when it comes.
    payload.catch(() => {})
    ahead.push(payload)
  }
  while (next < readAhead && next < ids.length) read()
  for (let payload = ahead.shift(); payload !== undefined; payload = ahead.shift()) {
    read()
    yield await payload
  }
}

async function* chain(first: readonly Payload[], rest: AsyncIterable<Payload>): AsyncGenerator<Payload> {
  yield* first
  yield* rest
}
