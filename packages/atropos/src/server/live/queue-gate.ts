import type { PreparedGroup } from "../bytes/prepared-group.ts"
import { bringsBatchNearer } from "./brings-batch-nearer.ts"
import type { LiveRun } from "./live-run.ts"

export interface QueueGateLimits {
  /** Bytes of queued and buffered groups. */
  queueBytes: number
  /** Bytes of bodies that are being read and checked at one time. */
  bodyBytes: number
  /** How long a push is held before it is sent away. */
  holdMs: number
}

/** A push that may be read. */
export interface GateVisit {
  /** Resolves to whether its groups may be kept: at once, unless the push was let in only to be looked at. */
  admit(groups: readonly Pick<PreparedGroup, "envId" | "size">[]): Promise<boolean>
  /** To be called when the push is done, however it went. */
  leave(): void
}

/** How far the queue may grow for the sake of a batch, in bounds. */
const reserveFactor = 2

/** A push from its headers to its end. */
interface Push {
  readonly bytes: number
  readonly patience: AbortSignal
  /** Known when it has been read. */
  groups: Parameters<GateVisit["admit"]>[0]
  /** Goes on, or away. */
  settle: (goesOn: boolean) => void
  /** Its groups will be kept. */
  admitted: boolean
  /** They are kept beyond the bound. */
  helps: boolean
}

/**
 * Lets pushes in while there is room, and holds the others in their order: their bodies stay unread, so that a full
 * server slows its producers down instead of growing.
 *
 * A full queue of which no batch can be formed would stay full: it waits for a certain environment or size. Then
 * pushes are let in to be looked at, as far as there is memory for bodies, and those that bring a batch nearer are
 * kept beyond the bound, one at a time: they stop when a batch is there.
 */
export class QueueGate {
  readonly #live: LiveRun
  readonly #limits: QueueGateLimits
  /** Held at their headers, and held when they have been read. */
  readonly #unread: Push[] = []
  readonly #read: Push[] = []
  readonly #stopListening: () => void
  /** Bytes of bodies inside, and of those among them that will be kept. */
  #inside = 0
  #coming = 0
  /** A push is being kept beyond the bound. Only when that is done is it known whether another is needed. */
  #isHelped = false

  constructor(live: LiveRun, limits: QueueGateLimits) {
    this.#live = live
    this.#limits = limits
    this.#stopListening = live.onChange(() => this.#letIn())
  }

  get held(): number {
    return this.#unread.length + this.#read.length
  }

  /** Bytes of bodies inside. */
  get inside(): number {
    return this.#inside
  }

  get isFull(): boolean {
    return this.held > 0 || !this.#queueHasRoom() || !this.#memoryHasRoom(0)
  }

  /** Resolves when a push of about this many bytes may be read; to null when it has to go away. */
  async enter(bytes: number, signal: AbortSignal): Promise<GateVisit | null> {
    if (this.held === 0 && this.#queueHasRoom() && this.#memoryHasRoom(bytes)) {
      this.#inside += bytes
      this.#coming += bytes
      return { admit: async () => true, leave: () => this.#leave(bytes, bytes) }
    }
    const patience = new AbortController()
    const giveUp = (): void => patience.abort()
    const timer = setTimeout(giveUp, this.#limits.holdMs)
    signal.addEventListener("abort", giveUp, { once: true })
    const push: Push = {
      bytes,
      patience: patience.signal,
      groups: [],
      settle: () => {},
      admitted: false,
      helps: false,
    }
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener("abort", giveUp)
    }
    if (!(await this.#wait(push, this.#unread))) {
      end()
      return null
    }
    return {
      admit: async (groups) => {
        push.groups = groups
        return push.admitted || this.#wait(push, this.#read)
      },
      leave: () => {
        end()
        if (push.helps) this.#isHelped = false
        this.#leave(bytes, push.admitted ? bytes : 0)
      },
    }
  }

  /** Sends away those that are held. */
  close(): void {
    this.#stopListening()
    for (const push of [...this.#read.splice(0), ...this.#unread.splice(0)]) push.settle(false)
  }

  #wait(push: Push, list: Push[]): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    if (push.patience.aborted) return Promise.resolve(false)
    push.settle = resolve
    list.push(push)
    const giveUp = (): void => {
      const place = list.indexOf(push)
      if (place === -1) return
      list.splice(place, 1)
      resolve(false)
      this.#letIn()
    }
    push.patience.addEventListener("abort", giveUp, { once: true })
    this.#letIn()
    return promise
  }

  #leave(bytes: number, coming: number): void {
    this.#inside -= bytes
    this.#coming -= coming
    this.#letIn()
  }

  #letIn(): void {
    for (let next = this.#read[0]; next !== undefined && this.#queueHasRoom(); next = this.#read[0]) {
      this.#admit(next)
      this.#goOn(next, this.#read)
    }
    const helper = this.#isHelped ? undefined : this.#findHelper()
    if (helper !== undefined) {
      this.#isHelped = helper.helps = true
      this.#admit(helper)
      this.#goOn(helper, this.#read)
    }
    for (let next = this.#unread[0]; next !== undefined && this.#memoryHasRoom(next.bytes); next = this.#unread[0]) {
      if (this.#queueHasRoom()) this.#admit(next)
      else if (!this.#lacksGroups()) return
      this.#inside += next.bytes
      this.#goOn(next, this.#unread)
    }
  }

  #admit(push: Push): void {
    push.admitted = true
    this.#coming += push.bytes
  }

  #goOn(push: Push, list: Push[]): void {
    list.splice(list.indexOf(push), 1)
    push.settle(true)
  }

  #findHelper(): Push | undefined {
    if (this.#read.length === 0 || !this.#lacksGroups()) return undefined
    return this.#read.find(({ groups }) => bringsBatchNearer(this.#live.run, groups))
  }

  /** Whether only further groups can make a batch, and the queue has not grown for that as far as it may. */
  #lacksGroups(): boolean {
    const { run } = this.#live
    if (run.obstacle === null || run.obstacle === "not-registered") return false
    return run.table.totalBytes < reserveFactor * this.#limits.queueBytes
  }

  /** One push is always let in, however large: it could never enter otherwise. */
  #queueHasRoom(): boolean {
    const queued = this.#live.run.table.totalBytes
    return queued === 0 || queued + this.#coming < this.#limits.queueBytes
  }

  #memoryHasRoom(bytes: number): boolean {
    return this.#inside === 0 || this.#inside + bytes <= this.#limits.bodyBytes
  }
}
