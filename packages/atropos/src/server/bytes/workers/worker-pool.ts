import { Worker } from "node:worker_threads"
import { AtroposError } from "../../../runtime/errors.ts"
import { workerFile } from "../../../runtime/worker-file.ts"
import { largestPooled, type MemoryPool } from "../../memory-pool.ts"
import { claimedSize } from "../inflate.ts"
import type { IngestLimits, IngestResult } from "../prepared-group.ts"
import type { Job, JobDone, WorkerSetup } from "./messages.ts"

export interface WorkerPoolOptions {
  limits: IngestLimits
  /** Threads at most; they start when they are needed. */
  workers: number
  /** Bytes of bodies that may wait for a thread. */
  waitingBytes: number
  /** Where segments get their memory from. */
  memory: MemoryPool
  /** For tests: another file than the real worker. */
  file?: URL
}

interface Entry {
  job: Job
  /** Memory for its segment, from the moment it has a thread. */
  room: ArrayBufferLike | null
  /** Called when no thread looks at the body any more. */
  settled: () => void
  resolve: (result: IngestResult) => void
  reject: (error: Error) => void
}

/**
 * Threads that turn bodies into groups, one body at a time each. When a thread dies its one body fails with the cause,
 * and another thread takes its place.
 */
export class WorkerPool {
  /** Bytes of bodies that wait for a thread now. */
  waitingBytes = 0
  private readonly options: WorkerPoolOptions
  private readonly waiting: Entry[] = []
  private readonly idle: Worker[] = []
  private readonly busy = new Map<Worker, Entry>()
  private closed = false

  constructor(options: WorkerPoolOptions) {
    this.options = options
  }

  run(job: Job, settled: () => void = () => {}): Promise<IngestResult> {
    return new Promise((resolve, reject) => {
      const entry = { job, room: null, settled, resolve, reject }
      if (this.closed) reject(closedError())
      else if (this.waiting.length > 0 && this.waitingBytes + job.body.length > this.options.waitingBytes) {
        settled()
        reject(overloadedError(this.waitingBytes))
      } else {
        this.waiting.push(entry)
        this.waitingBytes += job.body.length
        this.dispatch()
      }
    })
  }

  async close(): Promise<void> {
    this.closed = true
    for (const entry of this.waiting.splice(0)) entry.reject(closedError())
    this.waitingBytes = 0
    const workers = [...this.idle.splice(0), ...this.busy.keys()]
    await Promise.all(workers.map((worker) => worker.terminate()))
  }

  private dispatch(): void {
    while (this.waiting.length > 0) {
      const worker = this.idle.pop() ?? this.start()
      if (worker === undefined) return
      const entry = this.waiting.shift()
      if (entry === undefined) return
      this.waitingBytes -= entry.job.body.length
      this.busy.set(worker, entry)
      const { buffer } = entry.job.body
      worker.postMessage(this.withRoom(entry), buffer instanceof ArrayBuffer ? [buffer] : [])
    }
  }

  private withRoom(entry: Entry): Job {
    const bytes = expectedSegmentBytes(entry.job)
    if (bytes === 0) return entry.job
    entry.room = this.options.memory.take(bytes)
    return { ...entry.job, room: new Uint8Array(entry.room) }
  }

  /** A segment keeps the room that it nearly fills; otherwise the room is free again. */
  private giveRoom({ room }: Entry, result: IngestResult | null): void {
    if (room === null) return
    const { memory } = this.options
    const [group] = result?.ok === true ? result.groups : []
    if (group === undefined || !(group.segment.buffer instanceof SharedArrayBuffer)) {
      memory.give(room)
      return
    }
    let kept = room
    if (group.segment.length * 2 < room.byteLength) {
      kept = memory.take(group.segment.length)
      const copy = new Uint8Array(kept, 0, group.segment.length)
      copy.set(group.segment)
      group.segment = copy
      memory.give(room)
    }
    group.free = () => memory.give(kept)
  }

  private start(): Worker | undefined {
    if (this.busy.size + this.idle.length >= this.options.workers) return undefined
    const setup: WorkerSetup = { limits: this.options.limits }
    const worker = new Worker(this.options.file ?? workerFile(import.meta.url, "./ingest-worker"), {
      name: "ingest",
      workerData: setup,
    })
    // Open connections keep a server alive, not its threads.
    worker.unref()
    let cause: unknown = null
    worker.on("message", (done: JobDone) => this.finish(worker, done))
    worker.on("error", (error: unknown) => (cause = error))
    worker.on("exit", (code) => this.bury(worker, cause ?? new Error(`the thread ended with code ${code}`)))
    return worker
  }

  private finish(worker: Worker, done: JobDone): void {
    const entry = this.busy.get(worker)
    this.busy.delete(worker)
    this.idle.push(worker)
    if (entry !== undefined) {
      entry.settled()
      this.giveRoom(entry, done.outcome === "result" ? done.result : null)
      if (done.outcome === "result") entry.resolve(done.result)
      else entry.reject(failedError(done.message))
    }
    this.dispatch()
  }

  private bury(worker: Worker, cause: unknown): void {
    const entry = this.busy.get(worker)
    this.busy.delete(worker)
    const index = this.idle.indexOf(worker)
    if (index >= 0) this.idle.splice(index, 1)
    entry?.settled()
    if (entry !== undefined) this.giveRoom(entry, null)
    entry?.reject(this.closed ? closedError() : failedError(describe(cause), cause))
    if (!this.closed) this.dispatch()
  }
}

/** Encoded, groups of numbers are up to this part of their text; what needs more gets memory of its own. */
const segmentPart = 0.47

/** For the one group of a body; those of a list have each their own way. */
function expectedSegmentBytes({ kind, gzip, body }: Job): number {
  const textBytes = gzip ? (claimedSize(body) ?? 0) : body.length
  const bytes = kind === "one" ? Math.ceil(textBytes * segmentPart) : 0
  return bytes > largestPooled ? 0 : bytes
}

function describe(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}

function failedError(what: string, cause?: unknown): AtroposError {
  return new AtroposError("ingest-failed", `Checking the body failed (${what}); send it again`, {
    cause,
    retryable: true,
  })
}

function overloadedError(waitingBytes: number): AtroposError {
  return new AtroposError(
    "ingest-overloaded",
    `${waitingBytes} bytes of pushes already wait to be checked; send this one again later`,
    { retryable: true, facts: { waitingBytes } },
  )
}

function closedError(): AtroposError {
  return new AtroposError("ingest-failed", "The server is closing; send the body again when it is back", {
    retryable: true,
  })
}
