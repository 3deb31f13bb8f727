import type { IncomingMessage } from "node:http"
import type { MemoryPool } from "../memory-pool.ts"
import { refuseBody } from "./json/problems.ts"
import type { Refusal } from "./prepared-group.ts"

export interface BodyLimits {
  /** Bytes a body may have as it is sent. */
  bodyBytes: number
  /** Time for the whole body. */
  timeoutMs: number
}

export type CollectedBody =
  | { outcome: "whole"; body: Uint8Array }
  | { outcome: "refused"; refusal: Refusal }
  /** The client went away: nobody is left to answer. */
  | { outcome: "aborted" }

/** Memory at first for a body whose length nobody tells. */
const unknownLength = 16 * 1024

/** Reads the whole body of a request, within the limits. Give `body.buffer` back when nobody looks at it any more. */
export function collectBody(memory: MemoryPool, request: IncomingMessage, limits: BodyLimits): Promise<CollectedBody> {
  const declared = Number(request.headers["content-length"])
  if (declared > limits.bodyBytes) return Promise.resolve({ outcome: "refused", refusal: tooLarge(limits) })
  return new Promise((resolve) => {
    // A declared length is only believed as far as bytes come: a liar does not get memory for nothing.
    let buffer = memory.take(Math.min(Number.isNaN(declared) ? unknownLength : declared, firstStep))
    let bytes = new Uint8Array(buffer)
    let used = 0

    const onData = (chunk: Buffer): void => {
      const needed = used + chunk.length
      if (needed > limits.bodyBytes) {
        finish({ outcome: "refused", refusal: tooLarge(limits) })
        return
      }
      if (needed > bytes.length) {
        const wanted = Number.isNaN(declared) ? needed * 2 : Math.max(needed, Math.min(declared, needed * 4))
        const larger = memory.take(wanted)
        new Uint8Array(larger).set(bytes.subarray(0, used))
        memory.give(buffer)
        buffer = larger
        bytes = new Uint8Array(larger)
      }
      bytes.set(chunk, used)
      used = needed
      freeNow(chunk)
    }
    const onEnd = (): void => {
      finish({ outcome: "whole", body: bytes.subarray(0, used) })
    }
    const onGone = (): void => finish({ outcome: "aborted" })
    const timer = setTimeout(() => finish({ outcome: "refused", refusal: tooSlow(limits) }), limits.timeoutMs)

    let finished = false
    const finish = (result: CollectedBody): void => {
      if (finished) return
      finished = true
      clearTimeout(timer)
      request.off("data", onData).off("end", onEnd).off("error", onGone).off("close", onGone)
      if (result.outcome !== "whole") memory.give(buffer)
      // A late error of the connection finds no other listener.
      request.on("error", () => {})
      resolve(result)
    }
    request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone)
  })
}

/**
 * Frees the memory of a chunk that was copied. Left to the garbage collector, the chunks of large bodies make it run
 * again and again, which costs more than reading them.
 */
function freeNow(chunk: Buffer): void {
  const { buffer } = chunk
  // Node gives each large chunk a buffer of its own; small ones may share one with others.
  if (buffer instanceof ArrayBuffer && chunk.length === buffer.byteLength && chunk.length >= leastOwnChunk) {
    buffer.transfer(0)
  }
}

/** Chunks from here on have memory of their own. */
const leastOwnChunk = 16 * 1024

/** Most groups come whole in this; larger ones grow as they come. */
const firstStep = 1024 * 1024

function tooLarge(limits: BodyLimits): Refusal {
  return refuseBody(
    413,
    `The body is larger than ${limits.bodyBytes} bytes; send smaller groups or raise --max-body`,
    "body_too_large",
  )
}

function tooSlow(limits: BodyLimits): Refusal {
  return refuseBody(
    408,
    `The body did not come within ${limits.timeoutMs / 1000} s; send it faster or raise --body-timeout`,
    "body_timeout",
  )
}
