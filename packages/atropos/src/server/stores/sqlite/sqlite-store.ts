import { Worker } from "node:worker_threads"
import { AtroposError } from "../../../runtime/errors.ts"
import { workerFile } from "../../../runtime/worker-file.ts"
import { isCompactionDue } from "../compaction.ts"
import { MemoryPool } from "../../memory-pool.ts"
import { HeldPayload } from "../held-payload.ts"
import { closedStore, unknownGroup } from "../store-errors.ts"
import { type Commit, defaultRetainBytes, type Payload, type Recovered, type Store } from "../store.ts"
import { GroupReader } from "./group-reader.ts"
import {
  isChange,
  type Job,
  type PayloadOnTheWay,
  unpackError,
  type WriterOptions,
  type WriterReply,
  type WriterRequest,
} from "./messages.ts"
import { ReadCache } from "./read-cache.ts"
import type { Totals } from "./run-database.ts"

export interface SqliteStoreOptions {
  /** The run's folder; it is made when it is not there. The file in it is `run.sqlite`. */
  directory: string
  /** Bytes of released groups to keep. @default 10 GB */
  retainBytes?: number
  /** Bytes of payloads to hold in memory between commit and release. @default 64 MiB */
  cacheBytes?: number
  /** The file may not grow beyond this, as if the disk were full. @default null, no limit */
  maxFileBytes?: number | null
}

/**
 * A run in `run.sqlite` of its folder. Rejects when the file is damaged (`store-damaged`), of something else
 * (`store-foreign`), of a newer version (`store-newer`) or open in another server (`store-locked`).
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const workerData: WriterOptions = {
    directory: options.directory,
    retainBytes: options.retainBytes ?? defaultRetainBytes,
    maxFileBytes: options.maxFileBytes ?? null,
  }
  const writer = new Worker(workerFile(import.meta.url, "./writer-worker"), { workerData })
  const reply = await new Promise<WriterReply>((resolve, reject) => {
    writer.once("message", resolve).once("error", reject)
  })
  if (reply.type === "refused") throw unpackError(reply.error)
  if (reply.type !== "opened") throw new TypeError(`the writer began with ${reply.type}`)
  return new SqliteStore(writer, reply.totals, options.directory, options.cacheBytes ?? 64 * 1024 * 1024)
}

/** A job that the writer has not answered yet. */
interface Pending {
  job: Job
  /** Of a commit's payloads, as many and in their order. */
  memory: readonly PayloadMemory[]
  resolve: (recovered: Recovered | null) => void
  reject: (error: AtroposError) => void
}

/** What becomes of a payload's memory when the payload is written. */
interface PayloadMemory {
  /** Null when it has moved to the writer for good. */
  held: HeldPayload | null
  /** There is room for it in the cache. */
  isCached: boolean
}

/** Segments from here on are in shared memory while they are written; of smaller ones the writer gets a copy. */
const leastShared = 4096

class SqliteStore implements Store {
  readonly kind = "sqlite"
  readonly #writer: Worker
  readonly #reader: GroupReader
  readonly #cache: ReadCache
  readonly #memory = new MemoryPool()
  readonly #pending: Pending[] = []
  /** Groups of commits under way. */
  readonly #arriving = new Map<number, Promise<unknown>>()
  /** What was there at the start, read ahead while its reader is still getting ready; null once it is outdated. */
  #recovered: Promise<Recovered | null> | null
  #totals: Totals
  #failuresSeen = 0
  #closing: Promise<void> | null = null
  /** Why nothing is taken any more. */
  #ended: AtroposError | null = null

  constructor(writer: Worker, totals: Totals, directory: string, cacheBytes: number) {
    this.#writer = writer
    this.#reader = new GroupReader({ directory })
    this.#cache = new ReadCache(cacheBytes)
    this.#totals = totals
    writer.on("message", (reply: WriterReply) => this.#onReply(reply))
    writer.on("error", (cause) => this.#break(cause))
    this.#recovered = this.#request({ type: "recover" })
    // Whoever asks for it is told.
    this.#recovered.catch(() => {})
  }

  get payloadBytes(): number {
    return this.#totals.payloadBytes
  }

  get compactionDue(): boolean {
    return isCompactionDue(this.#totals.eventBytes, this.#totals.snapshotBytes)
  }

  async recover(): Promise<Recovered> {
    const recovered = (await this.#recovered) ?? (await this.#request({ type: "recover" }))
    this.#recovered = null
    return recovered ?? { snapshot: null, events: [] }
  }

  async commit(commit: Commit): Promise<void> {
    const transfers: ArrayBuffer[] = []
    const memory: PayloadMemory[] = []
    const payloads = commit.payloads.map((payload) => this.#handOver(payload, memory, transfers))
    const done = this.#request({ type: "commit", ...commit, payloads }, memory, transfers)
    for (const { groupId } of payloads) this.#arriving.set(groupId, done)
    try {
      await done
    } finally {
      for (const { groupId } of payloads) this.#arriving.delete(groupId)
    }
  }

  async compact(snapshot: string): Promise<void> {
    await this.#request({ type: "compact", snapshot })
  }

  async read(groupId: number): Promise<Payload> {
    this.#requireOpen()
    const arriving = this.#arriving.get(groupId)
    if (arriving !== undefined) {
      await arriving.catch(() => {
        throw unknownGroup(groupId)
      })
    }
    const cached = this.#cache.get(groupId)
    if (cached !== undefined) return cached.share()
    // The store may have closed while the commit was under way: the reader must not start again.
    this.#requireOpen()
    return this.#reader.read(groupId)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const broken = this.#ended
    this.#ended = broken ?? closedStore()
    // Wholly before the writer, which tidies the write-ahead log away if it is the last connection to close.
    await this.#reader.close()
    if (broken !== null) throw broken
    const exited = new Promise((resolve) => this.#writer.once("exit", resolve))
    await this.#post({ type: "close" })
    await exited
    this.#cache.clear()
  }

  async #request(
    job: Job,
    memory: readonly PayloadMemory[] = [],
    transfers: readonly ArrayBuffer[] = [],
  ): Promise<Recovered | null> {
    this.#requireOpen()
    return this.#post(job, memory, transfers)
  }

  #requireOpen(): void {
    if (this.#ended !== null) throw this.#ended
  }

  #post(
    job: Job,
    memory: readonly PayloadMemory[] = [],
    transfers: readonly ArrayBuffer[] = [],
  ): Promise<Recovered | null> {
    if (isChange(job)) this.#recovered = null
    const { promise, resolve, reject } = Promise.withResolvers<Recovered | null>()
    this.#writer.postMessage({ failuresSeen: this.#failuresSeen, job } satisfies WriterRequest, transfers)
    this.#pending.push({ job, memory, resolve, reject })
    return promise
  }

  /** Readies a payload for its way to the writer, which looks at shared memory and keeps other memory. */
  #handOver(
    { groupId, ...payload }: Commit["payloads"][number],
    memory: PayloadMemory[],
    transfers: ArrayBuffer[],
  ): PayloadOnTheWay {
    const { crc32, jsonBytes } = payload
    const shared = this.#putIntoSharedMemory(payload)
    if (shared !== null) {
      const held = new HeldPayload(shared)
      memory.push({ held, isCached: this.#cache.reserve(held.memoryBytes) })
      const { segment } = shared
      return { groupId, segment, bytes: segment.length, crc32, jsonBytes }
    }
    memory.push({ held: null, isCached: false })
    let { segment } = payload
    // All of a buffer would travel with a part of it.
    if (segment.byteLength !== segment.buffer.byteLength) segment = segment.slice()
    const bytes = segment.length
    if (bytes >= leastShared) transfers.push(segment.buffer as ArrayBuffer)
    return { groupId, segment, bytes, crc32, jsonBytes }
  }

  /** Null for what is too small or too large for that. */
  #putIntoSharedMemory(payload: Payload): Payload | null {
    const { segment, crc32, jsonBytes } = payload
    if (segment.buffer instanceof SharedArrayBuffer) return payload
    const room = segment.length < leastShared ? null : this.#memory.take(segment.length)
    if (room === null || room instanceof ArrayBuffer) return null
    const copy = new Uint8Array(room, 0, segment.length)
    copy.set(segment)
    payload.free?.()
    return { segment: copy, crc32, jsonBytes, free: () => this.#memory.give(room) }
  }

  #onReply(reply: WriterReply): void {
    switch (reply.type) {
      case "done":
        this.#totals = reply.totals
        this.#settle(reply.jobs)
        return
      case "recovered":
        this.#pending.shift()?.resolve(reply.recovered)
        return
      case "failed":
        this.#reject(unpackError(reply.error))
        return
      case "opened":
      case "refused":
        throw new TypeError(`the writer said ${reply.type} twice`)
    }
  }

  #settle(jobs: number): void {
    for (const { job, memory, resolve } of this.#pending.splice(0, jobs)) {
      if (job.type === "commit") {
        if (job.beginsRun === true) this.#cache.clear()
        for (const [index, { held, isCached }] of memory.entries()) {
          if (isCached && held !== null) this.#cache.fill(job.payloads[index]?.groupId ?? 0, held)
          else held?.free()
        }
        for (const groupId of job.released ?? []) this.#cache.delete(groupId)
      }
      resolve(null)
    }
  }

  /** The first pending job failed; when it was a change, so did the changes behind it. */
  #reject(error: AtroposError): void {
    const first = this.#pending[0]
    if (first === undefined) return
    if (!isChange(first.job)) {
      this.#pending.shift()
      first.reject(error)
      return
    }
    this.#failuresSeen += 1
    for (const pending of this.#pending.splice(0)) {
      if (isChange(pending.job)) this.#rejectChange(pending, error)
      else this.#pending.push(pending)
    }
  }

  #rejectChange({ memory, reject }: Pending, error: AtroposError): void {
    for (const { held, isCached } of memory) {
      if (isCached && held !== null) this.#cache.cancel(held.memoryBytes)
      held?.free()
    }
    reject(error)
  }

  /** The writing thread died: what it had not acknowledged is not known to be kept. */
  #break(cause: Error): void {
    const error = new AtroposError("store-failed", `The thread that writes the run died: ${cause.message}.`, { cause })
    this.#ended = error
    for (const { reject } of this.#pending.splice(0)) reject(error)
  }
}
