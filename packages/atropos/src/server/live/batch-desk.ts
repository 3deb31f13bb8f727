import { type Batch, formatHandout, type HandoutState, parseHandout } from "../run/batches.ts"
import { isSameRegistration, type TrainerRegistration } from "../run/registration.ts"
import { explainObstacle } from "./explain-obstacle.ts"
import type { LiveRun } from "./live-run.ts"
import type { Presence } from "./presence.ts"

/** A batch on its way to a trainer. Exactly one of `delivered` and `failed` is to be called. */
export interface Handout {
  /** What the trainer acknowledges: every hand-out of a batch has an id of its own. */
  readonly id: string
  readonly batch: Batch
  /** Aborted when the batch no longer counts: what is still unwritten of its answer must not be written. */
  readonly signal: AbortSignal
  /** The answer was written in full. */
  delivered(): void
  /** The answer was cut: the next poll gets the same batch. */
  failed(): void
}

export interface PollOptions {
  /** The trainer will acknowledge the batch. */
  manual: boolean
  /** How long to wait for a batch. */
  waitMs: number
  /** Aborted when the trainer is gone. */
  signal: AbortSignal
}

/** As many damaged groups between two deliveries are no longer a matter of single groups. */
const maxSetAsideInARow = 100

export type Acknowledgement = Exclude<HandoutState, "open">

/**
 * Hands out batches, one after another: the oldest whose answer was cut, else a new one. A batch is formed for good,
 * in the store, before a byte of it is written; likewise that it is handed out again.
 */
export class BatchDesk {
  readonly #live: LiveRun
  readonly #presence: Presence
  readonly #ackTimeoutMs: number
  /** Batches whose answer is being written. */
  readonly #writing = new Map<number, AbortController>()
  readonly #waiting: (() => void)[] = []
  /** Resolves when the one who decides about batches or the registration has decided. */
  #turn: Promise<void> = Promise.resolve()
  readonly #stopListening: () => void
  #setAsideInARow = 0
  #closed = false

  constructor(live: LiveRun, presence: Presence, options: { ackTimeoutMs: number }) {
    this.#live = live
    this.#presence = presence
    this.#ackTimeoutMs = options.ackTimeoutMs
    this.#stopListening = live.onChange(() => this.#wakeNext())
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** The next batch; null while there is none; `not-registered` before any trainer has registered. */
  async poll(options: PollOptions): Promise<Handout | null | "not-registered"> {
    const { run } = this.#live
    const patience = options.waitMs > 0 ? AbortSignal.any([options.signal, AbortSignal.timeout(options.waitMs)]) : null
    for (;;) {
      if (run.registration === null) return "not-registered"
      if (!run.started) await this.#live.submit({ type: "start" })
      const handout = await this.#exclusively(() => this.#take(options))
      if (handout !== null) return handout
      if (patience === null || patience.aborted || this.#closed) return null
      await this.#nextChance(patience)
    }
  }

  /** Why a poll would get null, in words; null when it would get a batch. */
  explainNull(): string | null {
    return this.#hasCutBatch() ? null : explainObstacle(this.#live.run)
  }

  /** Registers a trainer. Answers under way are cut when the registration is another one: their batches dissolve. */
  register(registration: TrainerRegistration): Promise<"new" | "same" | "updated"> {
    return this.#exclusively(() => {
      const before = this.#live.run.registration
      if (before !== null && !isSameRegistration(before, registration)) {
        this.#cutAnswers()
      }
      return this.#live.submit({ type: "register", registration })
    })
  }

  /** Begins a new run. Answers under way are cut. */
  reset(): Promise<void> {
    return this.#exclusively(() => {
      this.#cutAnswers()
      return this.#live.submit({ type: "reset" }, { beginsRun: true })
    })
  }

  /** Only the newest hand-out of a batch can be acknowledged, so that a batch counts for one trainer. */
  acknowledge(id: string): Promise<Acknowledgement> {
    return this.#exclusively(async () => {
      const name = parseHandout(id)
      if (name === null) return "unknown"
      const { run } = this.#live
      const state = run.batches.stateOf(name)
      if (state !== "open") return state
      const batch = run.batches.open.get(name.batch)
      if (batch === undefined) return "unknown"
      await this.#live.submit({ type: "acknowledge-batch", batch: batch.id, kept: run.keptOf(batch) })
      return "settled"
    })
  }

  /**
   * A group of the batch can not be read: it is set aside for good, and the next poll gets a batch without it. Resolves
   * to whether it was; else the batch stays as it is, and its hand-out has still to end.
   */
  setAside(handout: Handout, groupId: number): Promise<boolean> {
    return this.#exclusively(async () => {
      if (handout.signal.aborted || this.#setAsideInARow >= maxSetAsideInARow) return false
      await this.#live.submit({ type: "set-aside-group", batch: handout.batch.id, group: groupId })
      this.#setAsideInARow += 1
      handout.failed()
      return true
    })
  }

  /** Gives back the batches that nobody acknowledged in time, and takes notice of environments that are gone. */
  check(): Promise<void> {
    return this.#exclusively(() => this.#check())
  }

  async #check(): Promise<void> {
    this.#presence.check()
    const { open } = this.#live.run.batches
    if (open.size === 0) return
    const now = this.#live.now
    const overdue = [...open.values()].filter(({ deadline }) => deadline !== null && deadline <= now)
    // Each goes before all others, so the oldest comes last.
    await Promise.all(overdue.toReversed().map(({ id }) => this.#live.submit({ type: "return-batch", batch: id })))
  }

  /** Nobody waits for a batch any more. */
  close(): void {
    this.#closed = true
    this.#stopListening()
    for (const wake of this.#waiting.splice(0)) wake()
  }

  async #take({ manual, signal }: PollOptions): Promise<Handout | null> {
    const { run } = this.#live
    await this.#check()
    for (;;) {
      if (signal.aborted) return null
      for (const batch of run.batches.formed()) {
        if (this.#writing.has(batch.id)) continue
        await this.#live.submit({ type: "hand-out-again", batch: batch.id })
        return signal.aborted ? null : this.#handOut(batch, manual)
      }
      const groups = run.chooseBatch()
      if (groups === null) return null
      const batch = await this.#live.submit({ type: "form-batch", epoch: run.epoch, groups })
      // Null: a reset came in between.
      if (batch !== null && !signal.aborted) return this.#handOut(batch, manual)
    }
  }

  #handOut(batch: Batch, manual: boolean): Handout {
    const controller = new AbortController()
    this.#writing.set(batch.id, controller)
    const isOurs = (): boolean => {
      const ours = this.#writing.get(batch.id) === controller
      if (ours) this.#writing.delete(batch.id)
      return ours
    }
    return {
      id: formatHandout({ batch: batch.id, handout: batch.handouts }),
      batch,
      signal: controller.signal,
      delivered: () => {
        if (!isOurs()) return
        this.#setAsideInARow = 0
        const [deadline, kept] = manual
          ? [this.#live.now + this.#ackTimeoutMs, null]
          : [null, this.#live.run.keptOf(batch)]
        this.#live.note({ type: "deliver-batch", batch: batch.id, deadline, kept })
      },
      failed: () => {
        if (isOurs()) this.#wakeNext()
      },
    }
  }

  /** One at a time: nobody chooses a batch while another is being formed, acknowledged or given back, or the registration changes. */
  #exclusively<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(work)
    this.#turn = result.then(
      () => {},
      () => {},
    )
    return result
  }

  #wakeNext(): void {
    if (this.#waiting.length === 0) return
    const { run } = this.#live
    if (run.registration === null || run.obstacle === null || this.#hasCutBatch()) this.#waiting.shift()?.()
  }

  /** Whether there is a batch whose answer was cut and that nobody is given now. */
  #hasCutBatch(): boolean {
    for (const { id } of this.#live.run.batches.formed()) if (!this.#writing.has(id)) return true
    return false
  }

  #cutAnswers(): void {
    for (const controller of this.#writing.values()) controller.abort()
    this.#writing.clear()
  }

  /** Resolves when a batch may be there, or when the patience is over. */
  async #nextChance(patience: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = (): void => resolve()
    this.#waiting.push(stop)
    patience.addEventListener("abort", stop, { once: true })
    await promise
    patience.removeEventListener("abort", stop)
    const place = this.#waiting.indexOf(stop)
    if (place !== -1) this.#waiting.splice(place, 1)
  }
}
