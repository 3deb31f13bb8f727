import { Worker } from "node:worker_threads"
import { AtroposError } from "../../../runtime/errors.ts"
import { workerFile } from "../../../runtime/worker-file.ts"
import { closedStore } from "../store-errors.ts"
import type { Payload } from "../store.ts"
import { type ReaderOptions, type ReadReply, type ReadRequest, unpackError } from "./messages.ts"

interface Read {
  promise: Promise<Payload>
  resolve: (payload: Payload) => void
  reject: (error: AtroposError) => void
}

/** Asks the reading thread for groups. The thread starts with the first read; reads of one tick go together. */
export class GroupReader {
  readonly #options: ReaderOptions
  readonly #reads = new Map<number, Read>()
  #wanted: number[] = []
  #worker: Worker | null = null

  constructor(options: ReaderOptions) {
    this.#options = options
  }

  read(groupId: number): Promise<Payload> {
    const known = this.#reads.get(groupId)
    if (known !== undefined) return known.promise
    const { promise, resolve, reject } = Promise.withResolvers<Payload>()
    this.#reads.set(groupId, { promise, resolve, reject })
    if (this.#wanted.push(groupId) === 1) queueMicrotask(() => this.#ask())
    return promise
  }

  async close(): Promise<void> {
    this.#rejectAll(closedStore())
    await this.#worker?.terminate()
    this.#worker = null
  }

  #ask(): void {
    const request: ReadRequest = this.#wanted
    this.#wanted = []
    if (request.length === 0) return
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
    const read = this.#reads.get(reply.groupId)
    this.#reads.delete(reply.groupId)
    if ("payload" in reply) read?.resolve(reply.payload)
    else read?.reject(unpackError(reply.error))
  }

  #rejectAll(error: AtroposError): void {
    this.#wanted = []
    for (const read of this.#reads.values()) read.reject(error)
    this.#reads.clear()
  }
}
