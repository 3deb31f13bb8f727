import { availableParallelism } from "node:os"
import { createCodec } from "./create-codec.ts"
import { MemoryPool } from "../memory-pool.ts"
import { claimedSize } from "./inflate.ts"
import { prepareGroups } from "./prepare-groups.ts"
import type { Ingest, IngestLimits, IngestRequest, IngestResult } from "./prepared-group.ts"
import { WorkerPool } from "./workers/worker-pool.ts"

export interface IngestOptions {
  /** Threads for large bodies. @default one less than the machine's cores, at least 1 and at most 8 */
  workers?: number
  /** Bytes of bodies that may wait for a thread; beyond them pushes fail with `ingest-overloaded`. @default 512 MB */
  waitingBytes?: number
  /** Where segments get their memory from. @default a pool of its own */
  memory?: MemoryPool
}

export interface ThreadedIngest extends Ingest {
  /** Bytes of bodies that wait for a thread now. */
  readonly waitingBytes: number
}

/** Up to this much JSON a trip to another thread costs more than the work. */
const inlineBytes = 32 * 1024

/** What turns bodies into stored groups: small ones at once, large ones in threads that start when needed. */
export function createIngest(limits: IngestLimits, options: IngestOptions = {}): ThreadedIngest {
  const {
    workers = Math.min(8, Math.max(1, availableParallelism() - 1)),
    waitingBytes = 512 * 1024 * 1024,
    memory = new MemoryPool(),
  } = options
  const codec = createCodec()
  const pool = new WorkerPool({ limits, workers, waitingBytes, memory })
  const inlineLimits = { ...limits, inflatedBytes: Math.min(limits.inflatedBytes, inlineBytes) }

  function prepareInline(request: IngestRequest): IngestResult | null {
    const { body, gzip } = request
    if (body.length > inlineBytes || (gzip && (claimedSize(body) ?? 0) > inlineBytes)) return null
    const result = prepareGroups(request, inlineLimits, codec)
    // It is larger than it claims to be.
    return !result.ok && result.refusal.status === 413 ? null : result
  }

  return {
    get waitingBytes() {
      return pool.waitingBytes
    },
    async ingest(request) {
      const { body, kind, gzip, json, recycle } = request
      const inline = prepareInline(request)
      if (inline === null) {
        const lent = recycle === undefined ? copyToSharedMemory(body) : body
        return pool.run({ kind, gzip, json, body: lent }, () => recycle?.(body.buffer))
      }
      recycle?.(body.buffer)
      return inline
    },
    close: () => pool.close(),
  }
}

function copyToSharedMemory(body: Uint8Array): Uint8Array {
  const copy = new Uint8Array(new SharedArrayBuffer(body.length))
  copy.set(body)
  return copy
}
