import { availableParallelism } from "node:os"
import { Worker } from "node:worker_threads"

import { AtroposError } from "../../../runtime/errors.ts"
import { workerFile } from "../../../runtime/worker-file.ts"
import type { MathCheck, WorkerReply, WorkerRequest } from "./messages.ts"

export interface MathPoolOptions {
  /** @default the number of processors, less one for the rest of the program, at most 8 */
  workers?: number
  /** A check that takes longer is ended, its worker replaced. @default 5000 */
  timeoutMs?: number
  /** Checks that may wait; more are refused. @default 10_000 */
  maxWaiting?: number
  /** A module that exports an `engine` (`MathEngine`), loaded in each worker. */
  engine?: URL
}

/** Whether the answer is equal; `timeout` when that could not be told in time, `failed` when an engine threw. */
export type MathVerdict = "equal" | "different" | "timeout" | "failed"

interface Task {
  check: MathCheck
  resolve: (verdict: MathVerdict) => void
  reject: (error: Error) => void
}

/**
 * Checks math answers in worker threads that are ended when a check takes too long: for many checks at once, for text
 * from anywhere, and for engines that cannot be trusted to end.
 */
export class MathPool {
  private readonly size: number
  private readonly timeoutMs: number
  private readonly maxWaiting: number
  private readonly engineUrl: string | undefined
  private readonly waiting: Task[] = []
  private readonly slots = new Set<Slot>()
  private closed = false

  constructor(options: MathPoolOptions = {}) {
    this.size = options.workers ?? Math.min(8, Math.max(1, availableParallelism() - 1))
    this.timeoutMs = options.timeoutMs ?? 5000
    this.maxWaiting = options.maxWaiting ?? 10_000
    this.engineUrl = options.engine?.href
  }

  /** Checks one answer. Rejects when the pool is full, closed, or `signal` is aborted first. */
  check(check: MathCheck, options: { signal?: AbortSignal } = {}): Promise<MathVerdict> {
    const { signal } = options
    if (signal?.aborted === true) return Promise.reject(abortError(signal))
    if (this.closed) return Promise.reject(poolClosed())
    if (this.waiting.length >= this.maxWaiting) {
      return Promise.reject(
        new AtroposError(
          "math-pool-full",
          `${this.waiting.length} math checks wait already; wait for some, or raise maxWaiting`,
          {
            retryable: true,
          },
        ),
      )
    }
    const { promise, resolve, reject } = Promise.withResolvers<MathVerdict>()
    const task: Task = { check, resolve, reject }
    const stop = (): void => {
      const place = this.waiting.indexOf(task)
      if (place !== -1) this.waiting.splice(place, 1)
      if (signal !== undefined) reject(abortError(signal))
    }
    signal?.addEventListener("abort", stop, { once: true })
    this.waiting.push(task)
    this.assign()
    return promise.finally(() => signal?.removeEventListener("abort", stop))
  }

  /** Ends the workers; checks that wait or run are rejected. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    for (const task of this.waiting.splice(0)) task.reject(poolClosed())
    await Promise.all([...this.slots].map((slot) => slot.close()))
    this.slots.clear()
  }

  private assign(): void {
    while (this.waiting.length > 0 && !this.closed) {
      let slot = [...this.slots].find(({ idle }) => idle)
      if (slot === undefined) {
        if (this.slots.size >= this.size) return
        slot = new Slot(this.engineUrl, this.timeoutMs, {
          free: () => this.assign(),
          gone: (ended) => {
            this.slots.delete(ended)
            this.assign()
          },
        })
        this.slots.add(slot)
      }
      const task = this.waiting.shift()
      if (task !== undefined) slot.run(task)
    }
  }
}

/** One worker and the check it works on. Its time counts from when the worker is up. */
class Slot {
  private readonly worker: Worker
  private readonly timeoutMs: number
  private readonly listener: { free: () => void; gone: (slot: Slot) => void }
  private task: Task | undefined
  private timer: NodeJS.Timeout | undefined
  private ready = false
  private lastId = 0

  constructor(
    engineUrl: string | undefined,
    timeoutMs: number,
    listener: { free: () => void; gone: (slot: Slot) => void },
  ) {
    this.timeoutMs = timeoutMs
    this.listener = listener
    this.worker = new Worker(workerFile(import.meta.url, "./math-worker"), { workerData: { engineUrl } })
    // A pool that nobody uses does not keep the program alive.
    this.worker.unref()
    this.worker.on("message", (reply: WorkerReply) => this.receive(reply))
    this.worker.on("error", () => this.finish("failed"))
    this.worker.on("exit", () => {
      this.finish("failed")
      this.listener.gone(this)
    })
  }

  get idle(): boolean {
    return this.task === undefined
  }

  run(task: Task): void {
    this.task = task
    this.worker.ref()
    if (this.ready) this.send()
  }

  async close(): Promise<void> {
    clearTimeout(this.timer)
    const { task } = this
    this.task = undefined
    task?.reject(poolClosed())
    await this.worker.terminate()
  }

  private send(): void {
    const { task } = this
    if (task === undefined) return
    const request: WorkerRequest = { id: ++this.lastId, check: task.check }
    this.worker.postMessage(request)
    this.timer = setTimeout(() => {
      this.finish("timeout")
      void this.worker.terminate()
    }, this.timeoutMs)
  }

  private receive(reply: WorkerReply): void {
    if ("ready" in reply) {
      this.ready = true
      this.send()
      return
    }
    if (reply.id !== this.lastId) return
    this.finish("error" in reply ? "failed" : reply.equal ? "equal" : "different")
    this.listener.free()
  }

  private finish(verdict: MathVerdict): void {
    clearTimeout(this.timer)
    const { task } = this
    if (task === undefined) return
    this.task = undefined
    this.worker.unref()
    task.resolve(verdict)
  }
}

function poolClosed(): AtroposError {
  return new AtroposError("math-pool-closed", "the math pool was closed before the check was done")
}

function abortError(signal: AbortSignal): Error {
  const { reason } = signal as { reason: unknown }
  return reason instanceof Error ? reason : new DOMException("a math check was aborted", "AbortError")
}
