import { AtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import { retryAfterOf, type RetryPolicy, waitAfterFailures } from "../../runtime/retry.ts"
import type { SpoolDirectory, SpooledName } from "./spool-directory.ts"

/** A push as it is sent. */
export interface Push {
  name: SpooledName
  body: Uint8Array
}

export interface SpoolOptions {
  /** Sends a push once; throws errors that say whether they are retryable. */
  send: (push: Push, signal: AbortSignal) => Promise<unknown>
  /** Called for each push that was refused for good, with where it is kept if it is on disk. */
  onRefused: (push: Push, error: AtroposError, file: string | null) => void
  directory: SpoolDirectory | null
  maxBytes: number
  /** Pushes that are under way at the same time while all is well. */
  concurrency: number
  policy: RetryPolicy
  logger: Logger
}

interface Entry {
  name: SpooledName
  bytes: number
  /** Null while it is only on disk. */
  body: Uint8Array | null
  resolve: (answer: unknown) => void
  reject: (error: unknown) => void
}

interface Waiter {
  groups: number
  bytes: number
  admit: () => void
  refuse: (error: unknown) => void
}

/**
 * Pushes that are not acknowledged yet. Nothing leaves but by an answer: a 2xx, or a refusal for good. While the
 * server can not be had, pushes wait here and the oldest is tried again and again; what has waited then goes out one by
 * one, in order. When the spool is full, whoever pushes waits.
 */
export class Spool {
  readonly #options: SpoolOptions
  /** In order of sequence; those under way are not in it. */
  readonly #waiting: Entry[] = []
  readonly #underWay = new Set<Entry>()
  readonly #outside: Waiter[] = []
  readonly #idle: (() => void)[] = []
  readonly #abort = new AbortController()
  #nextSequence = 0
  #bytes = 0
  #groups = 0
  /** Times in a row that the server could not be had. */
  #failures = 0
  /** What had to wait goes out one by one, up to this place in the order. */
  #inOrderUpTo = -1
  #timer: NodeJS.Timeout | null = null

  constructor(options: SpoolOptions) {
    this.#options = options
    for (const { name, bytes } of options.directory?.list() ?? []) {
      this.#waiting.push({ name, bytes, body: null, resolve: () => {}, reject: () => {} })
      this.#count(name.groups, bytes)
      this.#inOrderUpTo = name.sequence
    }
    this.#nextSequence = this.#inOrderUpTo + 1
    if (this.#groups > 0) options.logger.info("sending groups that an earlier process left", { groups: this.#groups })
    this.#pump()
  }

  /** Groups that the server has not acknowledged. */
  get groups(): number {
    return this.#groups
  }

  get bytes(): number {
    return this.#bytes
  }

  /** A place in the order of sending. */
  takeSequence(): number {
    return this.#nextSequence++
  }

  /**
   * Takes a push, once there is room, and resolves with its answer. An abort ends the waiting only: what was taken is
   * still sent; what was not rejects with `spool-full`.
   */
  async push({ name, body }: Push, signal: AbortSignal | undefined): Promise<unknown> {
    await this.#enter(name.groups, body.length, signal)
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const entry: Entry = { name, bytes: body.length, body, resolve, reject }
    try {
      await this.#options.directory?.write(name, body)
    } catch (cause) {
      this.#leave(entry)
      throw new AtroposError("spool-failed", `A group could not be written to the spool: ${String(cause)}.`, { cause })
    }
    this.#insert(entry)
    this.#pump()
    // An abort may leave the answer without a listener.
    promise.catch(() => {})
    return abortable(promise, signal)
  }

  /** Resolves when nothing is left to send. */
  async flush(signal?: AbortSignal): Promise<void> {
    if (this.#groups === 0) return
    await abortable(new Promise<void>((resolve) => this.#idle.push(resolve)), signal)
  }

  /** Stops sending, and says how many groups are left: on disk for the next client, or lost with the memory. */
  close(): number {
    const error = closedClient(this.#options.directory !== null)
    this.#abort.abort(error)
    if (this.#timer !== null) clearTimeout(this.#timer)
    for (const entry of [...this.#waiting, ...this.#underWay]) entry.reject(error)
    for (const { refuse } of this.#outside.splice(0)) refuse(error)
    this.#options.directory?.close()
    return this.#groups
  }

  /** Waits, in turn, until there is room, and takes it. One push may always be in, however large. */
  async #enter(groups: number, bytes: number, signal: AbortSignal | undefined): Promise<void> {
    this.#abort.signal.throwIfAborted()
    if (this.#outside.length === 0 && this.#fits(bytes)) {
      this.#count(groups, bytes)
      return
    }
    const { promise, resolve: admit, reject: refuse } = Promise.withResolvers<void>()
    const waiter = { groups, bytes, admit, refuse }
    const onAbort = (): void => {
      const place = this.#outside.indexOf(waiter)
      if (place < 0) return
      this.#outside.splice(place, 1)
      refuse(this.#full(signal?.reason))
    }
    if (signal?.aborted === true) throw this.#full(signal.reason)
    this.#outside.push(waiter)
    signal?.addEventListener("abort", onAbort, { once: true })
    try {
      await promise
    } finally {
      signal?.removeEventListener("abort", onAbort)
    }
  }

  #fits(bytes: number): boolean {
    return this.#groups === 0 || this.#bytes + bytes <= this.#options.maxBytes
  }

  #count(groups: number, bytes: number): void {
    this.#groups += groups
    this.#bytes += bytes
  }

  #leave(entry: Entry): void {
    this.#count(-entry.name.groups, -entry.bytes)
    for (let next = this.#outside[0]; next !== undefined && this.#fits(next.bytes); next = this.#outside[0]) {
      this.#outside.shift()
      this.#count(next.groups, next.bytes)
      next.admit()
    }
    if (this.#groups === 0) for (const resolve of this.#idle.splice(0)) resolve()
  }

  #insert(entry: Entry): void {
    const behind = this.#waiting.findIndex(({ name }) => name.sequence > entry.name.sequence)
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, entry)
  }

  #pump(): void {
    for (let entry = this.#waiting[0]; entry !== undefined; entry = this.#waiting[0]) {
      const inOrder = [entry, ...this.#underWay].some(({ name }) => name.sequence <= this.#inOrderUpTo)
      const limit = inOrder ? 1 : this.#options.concurrency
      if (this.#timer !== null || this.#abort.signal.aborted || this.#underWay.size >= limit) return
      this.#waiting.shift()
      this.#underWay.add(entry)
      void this.#deliver(entry)
    }
  }

  async #deliver(entry: Entry): Promise<void> {
    const { directory, send, logger } = this.#options
    const { name } = entry
    try {
      const body = entry.body ?? (await directory?.read(name)) ?? new Uint8Array()
      const answer = await send({ name, body }, this.#abort.signal)
      if (this.#failures > 0) logger.info("the trajectory server takes groups again", { pendingGroups: this.#groups })
      this.#failures = 0
      await directory?.remove(name)
      this.#leave(entry)
      entry.resolve(answer)
    } catch (error) {
      if (this.#abort.signal.aborted) return
      if (error instanceof AtroposError && !error.retryable) await this.#refused(entry, error)
      else this.#failed(entry, error)
    } finally {
      this.#underWay.delete(entry)
      this.#pump()
    }
  }

  async #refused(entry: Entry, error: AtroposError): Promise<void> {
    const { directory, onRefused } = this.#options
    const body = entry.body ?? (await directory?.read(entry.name)) ?? new Uint8Array()
    const file = (await directory?.refuse(entry.name, error.message)) ?? null
    this.#failures = 0
    this.#leave(entry)
    onRefused({ name: entry.name, body }, error, file)
    entry.reject(file === null ? error : keptIn(file, error))
  }

  #failed(entry: Entry, error: unknown): void {
    const { directory, policy, logger } = this.#options
    if (directory !== null) entry.body = null
    this.#insert(entry)
    this.#inOrderUpTo = this.#nextSequence - 1
    // Several pushes under way fail together: that is one failure of the server.
    if (this.#timer !== null) return
    this.#failures += 1
    const waitMs = waitAfterFailures(this.#failures, policy, retryAfterOf(error))
    const level = this.#failures === 1 || this.#failures % 10 === 0 ? "warn" : "debug"
    logger[level](`groups wait for the trajectory server: ${error instanceof Error ? error.message : String(error)}`, {
      pendingGroups: this.#groups,
      nextTryMs: Math.round(waitMs),
    })
    this.#timer = setTimeout(() => {
      this.#timer = null
      this.#pump()
    }, waitMs)
  }

  #full(cause: unknown): AtroposError {
    return new AtroposError(
      "spool-full",
      `The spool is full: ${this.#groups} groups (${this.#bytes} of ${this.#options.maxBytes} bytes) wait for the ` +
        "trajectory server, and the wait for room was aborted. This group was not taken.",
      { cause, facts: { pendingGroups: this.#groups }, retryable: true },
    )
  }
}

function closedClient(onDisk: boolean): AtroposError {
  const fate = onDisk
    ? "what was not delivered stays in the spool for the next client"
    : "what was not delivered is lost, since its spool was in memory"
  return new AtroposError("client-closed", `The trajectory client was closed: ${fate}.`)
}

function keptIn(file: string, error: AtroposError): AtroposError {
  return new AtroposError(error.code, `${error.message} The group is kept in ${file}.`, {
    cause: error,
    facts: { ...error.facts, file },
  })
}

/** The promise's outcome, or the signal's reason if that comes first. */
async function abortable<Value>(promise: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return promise
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const onAbort = (): void => aborted.reject(signal.reason)
  signal.addEventListener("abort", onAbort, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener("abort", onAbort)
  }
}
