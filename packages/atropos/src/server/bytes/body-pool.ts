import type { IncomingMessage } from "node:http"
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

const smallestBuffer = 16 * 1024
const largestPooled = 16 * 1024 * 1024

/**
 * Buffers for request bodies. Each body is read into one buffer of a power of two, which goes back when the body has
 * been dealt with: allocating megabytes anew for each push would cost more than reading them. The memory is shared, so
 * that another thread looks at a body without a hand-over; only buffers too large to keep are not, since those are
 * freed when they have been handed over, and shared ones only when every thread has let go of them.
 */
export class BodyPool {
  private readonly idle = new Map<number, ArrayBufferLike[]>()
  private idleBytes = 0
  private readonly maxIdleBytes: number

  constructor(maxIdleBytes: number = 64 * 1024 * 1024) {
    this.maxIdleBytes = maxIdleBytes
  }

  take(bytes: number): ArrayBufferLike {
    const size = Math.max(smallestBuffer, 2 ** Math.ceil(Math.log2(Math.max(bytes, 1))))
    if (size > largestPooled) return new ArrayBuffer(bytes)
    const buffer = this.idle.get(size)?.pop()
    if (buffer === undefined) return new SharedArrayBuffer(size)
    this.idleBytes -= size
    return buffer
  }

  /** Gives a buffer back; what is not of the pool is forgotten. */
  give(buffer: ArrayBufferLike): void {
    const size = buffer.byteLength
    const isPooled =
      buffer instanceof SharedArrayBuffer &&
      size >= smallestBuffer &&
      size <= largestPooled &&
      Math.log2(size) % 1 === 0
    if (!isPooled || this.idleBytes + size > this.maxIdleBytes) return
    const idle = this.idle.get(size)
    if (idle === undefined) this.idle.set(size, [buffer])
    else idle.push(buffer)
    this.idleBytes += size
  }

  /** Reads the whole body of a request, within the limits. Give `body.buffer` back when nobody looks at it any more. */
  collect(request: IncomingMessage, limits: BodyLimits): Promise<CollectedBody> {
    const declared = Number(request.headers["content-length"])
    if (declared > limits.bodyBytes) return Promise.resolve({ outcome: "refused", refusal: tooLarge(limits) })
    return new Promise((resolve) => {
      // A declared length is only believed as far as bytes come: a liar does not get memory for nothing.
      let buffer = this.take(Math.min(Number.isNaN(declared) ? smallestBuffer : declared, firstStep))
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
          const larger = this.take(wanted)
          new Uint8Array(larger).set(bytes.subarray(0, used))
          this.give(buffer)
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
        if (result.outcome !== "whole") this.give(buffer)
        // A late error of the connection finds no other listener.
        request.on("error", () => {})
        resolve(result)
      }
      request.on("data", onData).on("end", onEnd).on("error", onGone).on("close", onGone)
    })
  }
}

/**
 * Frees the memory of a chunk that was copied. Left to the garbage collector, the chunks of large bodies make it run
 * again and again, which costs more than reading them.
 */
function freeNow(chunk: Buffer): void {
  const { buffer } = chunk
  // Node gives each large chunk a buffer of its own; small ones may share one with others.
  if (buffer instanceof ArrayBuffer && chunk.length === buffer.byteLength && chunk.length >= smallestBuffer) {
    buffer.transfer(0)
  }
}

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
