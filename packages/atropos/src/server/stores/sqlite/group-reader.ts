import { Worker } from "node:worker_threads"
import { AtroposError } from "../../../runtime/errors.ts"
import { workerFile } from "../../../runtime/worker-file.ts"
import { closedStore } from "../store-errors.ts"
import type { Payload } from "../store.ts"
import { type ReaderOptions, type ReadReply, type ReadRequest, unpackError } from "./messages.ts"

interface Read {
  resolve: (payload: Payload) => void
  reject: (error: AtroposError) => void
}

/** Asks the reading thread for groups. The thread starts with the first read; reads of one tick go together. */
export class GroupReader {
  readonly #options: ReaderOptions
  /** In the order in which they will be answered. */
  readonly #reads: Read[] = []
  #wanted: number[] = []
  #freed: ArrayBufferLike[] = []
  #worker: Worker | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(groupId: number): Promise<Payload> {
    const { promise, resolve, reject } = Promise.withResolvers<Payload>()
    this.#reads.push({ resolve, reject })
    if (this.#wanted.push(groupId) === 1) queueMicrotask(() => this.#ask())
    return promise
  }

  async close(): Promise<void> {
    this.#rejectAll(closedStore())
    await this.#worker?.terminate()
    this.#worker = null
  }

  #ask(): void {
    const request: ReadRequest = { groupIds: this.#wanted, freed: this.#freed }
    if (request.groupIds.length === 0) return
    this.#wanted = []
    this.#freed = []
    this.#worker ??= this.#start()
    this.#worker.postMessage(request)
  }

  #start(): Worker {
    const worker = new Worker(workerFile(import.meta.url, "./reader-worker"), { workerData: this.#options })
    worker.on("message", (reply: ReadReply) => this.#settle(reply))
    worker.on("error", (cause) => {
      this.#worker = null
      this.#rejectAll(
        new AtroposError("store-failed", `Reading the run in ${this.#options.directory} failed: ${String(cause)}.`, {
          cause,
          retryable: true,
        }),
      )
    })
    return worker
  }

  #settle(reply: ReadReply): void {
    const read = this.#reads.shift()
    if ("error" in reply) {
      read?.reject(unpackError({ ...reply.error, facts: { ...reply.error.facts, groupId: reply.groupId } }))
      return
    }
    const { buffer } = reply.payload.segment
    // It goes back with the next request.
    read?.resolve({ ...reply.payload, free: () => void this.#freed.push(buffer) })
  }

  #rejectAll(error: AtroposError): void {
    this.#wanted = []
    this.#freed = []
    for (const read of this.#reads.splice(0)) read.reject(error)
  }
}
