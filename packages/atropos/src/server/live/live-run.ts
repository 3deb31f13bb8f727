import { isAtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { RunEvent, RunNote } from "../run/events.ts"
import { Run, type RunOptions, type RunResults } from "../run/run.ts"
import { restoreSnapshot, takeSnapshot } from "../run/snapshot.ts"
import type { Commit, Store } from "../stores/store.ts"
import { type NotesTaken, PendingNotes } from "./pending-notes.ts"

type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>
type Extras = Partial<Omit<Commit, "events">>

export interface LiveRunOptions extends RunOptions {
  store: Store
  logger: Logger
  /** Milliseconds since 1970. */
  now: () => number
}

/** How long a note may wait for a commit that takes it along. */
const noteDelayMs = 50
/** As many groups to free wait for a commit of their own; more go with the next: the store has them in memory. */
const freedThatWait = 64
/** Groups that one commit frees at most, so that none waits long for it. */
const freedAtOnce = 4096
/** How long to wait before what the store refused is tried again. */
const retryDelayMs = 1000

/**
 * A run and its store. An event is committed before it is applied, and events are applied in the order of their
 * commits, so that what was answered is what a recovery finds. Notes are applied at once and committed soon after:
 * they tell what has already happened outside (an answer was written), and hold wherever they stand in the log.
 */
export class LiveRun {
  readonly run: Run
  readonly store: Store
  readonly #logger: Logger
  readonly #now: () => number
  readonly #listeners = new Set<() => void>()
  readonly #notes = new PendingNotes()
  /** Pushes whose answer was written since the last commit. */
  #answered: string[] = []
  #noteTimer: NodeJS.Timeout | null = null
  /** Resolves when every commit so far has been applied or has failed. */
  #tail: Promise<void> = Promise.resolve()
  /** While the log is being shortened, commits wait for this. */
  #gate: Promise<void> | null = null
  #compactAfter = 0
  #lastGroupId = -1
  #closed = false

  private constructor(run: Run, options: LiveRunOptions) {
    this.run = run
    this.store = options.store
    this.#logger = options.logger
    this.#now = options.now
  }

  /** Recovers the run that is in the store. */
  static async open(options: LiveRunOptions): Promise<LiveRun> {
    const run = new Run(options)
    const { snapshot, events } = await options.store.recover()
    if (snapshot !== null) restoreSnapshot(run, snapshot)
    // Our own texts, written by `JSON.stringify`: the store vouches that they are whole.
    for (const text of events) run.apply(JSON.parse(text) as RunEvent)
    run.wakeUp(options.now())
    return new LiveRun(run, options)
  }

  get now(): number {
    return this.#now()
  }

  /** An id for a new group: never used before in this store. */
  newGroupId(): number {
    this.#lastGroupId = Math.max(this.#lastGroupId + 1, this.run.nextGroupId)
    return this.#lastGroupId
  }

  /** Calls `listener` after every change. Gives the way to stop it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Commits an event, then applies it. Rejects, with nothing changed, when the store could not keep it. */
  async submit<Type extends RunEvent["type"]>(event: EventOf<Type>, extras: Extras = {}): Promise<RunResults[Type]> {
    while (this.#gate !== null) await this.#gate
    const notes = this.#takeNotes()
    const released = this.run.freed.length > freedThatWait ? this.#takeFreed() : []
    const commit = this.#commit(notes, { ...extras, released, events: [JSON.stringify(event)] })
    const applied = this.#tail.then(async () => {
      await commit
      return this.run.apply<Type>(event)
    })
    // The next commit waits for this one however it went, and a failure may come before its turn.
    this.#tail = settled(applied)
    void settled(commit)
    const result = await applied
    this.#changed()
    return result
  }

  /** Applies what has already happened, and commits it soon. */
  note(event: RunNote): void {
    this.run.apply(event)
    this.#notes.add(JSON.stringify(event))
    this.#flushSoon(noteDelayMs)
    this.#changed()
  }

  /** The answer to the push of these bytes was written. */
  noteAnswered(digest: string): void {
    this.run.pushes.answered(digest)
    this.#answered.push(digest)
    this.#flushSoon(noteDelayMs)
  }

  /** Waits until everything so far is committed, and closes the store. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#noteTimer !== null) clearTimeout(this.#noteTimer)
    while (this.#gate !== null) await this.#gate
    while (this.#hasUnkept && (await this.#flush()));
    await this.#tail
    await this.store.close()
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
    if (this.run.freed.length > 0) this.#flushSoon(noteDelayMs)
    if (!this.store.compactionDue || this.#gate !== null || this.#closed || this.#now() < this.#compactAfter) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gate = promise
    void this.#compact().finally(() => {
      this.#gate = null
      resolve()
    })
  }

  /** The gate is closed: when what is under way is settled, the run is exactly what the log says. */
  async #compact(): Promise<void> {
    await this.#tail
    // The snapshot tells what is to be freed.
    while (!this.#notes.isEmpty || this.#answered.length > 0) {
      if (!(await this.#flush())) return this.#postponeCompaction()
    }
    const compaction = this.store.compact(takeSnapshot(this.run))
    // What is committed from here on comes after the snapshot, so nobody has to wait for it.
    compaction.catch((error: unknown) => {
      this.#postponeCompaction()
      this.#logger.warn("the run's log could not be shortened yet", describe(error))
    })
  }

  #postponeCompaction(): void {
    this.#compactAfter = this.#now() + 10 * retryDelayMs
  }

  /** Whether something has happened that is not in the store yet. */
  get #hasUnkept(): boolean {
    return !this.#notes.isEmpty || this.#answered.length > 0 || this.run.freed.length > 0
  }

  #takeNotes(): NotesTaken {
    if (this.#answered.length > 0) {
      this.#notes.add(JSON.stringify({ type: "answer-pushes", digests: this.#answered } satisfies RunEvent))
      this.#answered = []
    }
    return this.#notes.take()
  }

  #takeFreed(): number[] {
    return this.run.freed.splice(0, freedAtOnce)
  }

  async #commit(
    notes: NotesTaken,
    { events, payloads = [], released = [], beginsRun }: Extras & { events: readonly string[] },
  ): Promise<void> {
    try {
      await this.store.commit({
        events: [...notes.events, ...events],
        payloads,
        released,
        ...(beginsRun === undefined ? {} : { beginsRun }),
      })
    } catch (error) {
      this.#notes.giveBack(notes)
      this.run.freed.push(...released)
      if (this.#hasUnkept) this.#flushSoon(retryDelayMs)
      throw error
    }
  }

  #flushSoon(delayMs: number): void {
    if (this.#noteTimer !== null || this.#closed) return
    this.#noteTimer = setTimeout(() => {
      this.#noteTimer = null
      // While the gate is closed the compaction takes the notes along.
      if (this.#gate === null) void this.#flush()
    }, delayMs)
  }

  /**
   * Commits the notes, and frees what they and the commits so far leave to nobody: that is not for the commits that a
   * trainer waits for, and a recovery finds it again. False when the store takes nothing now: it is kept for later.
   */
  async #flush(): Promise<boolean> {
    if (!this.#hasUnkept) return true
    try {
      await this.#commit(this.#takeNotes(), { events: [], released: this.#takeFreed() })
      if (this.run.freed.length > 0) this.#flushSoon(noteDelayMs)
      return true
    } catch (error) {
      this.#logger.warn("the run's notes could not be kept yet", describe(error))
      return false
    }
  }
}

async function settled(work: Promise<unknown>): Promise<void> {
  await work.catch(() => {
    // Whoever asked for the work is told.
  })
}

function describe(error: unknown): { code: string; error: string } {
  return { code: isAtroposError(error) ? error.code : "unknown", error: String(error) }
}
