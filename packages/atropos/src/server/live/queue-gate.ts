import type { LiveRun } from "./live-run.ts"

export interface QueueGateLimits {
  /** Bytes of queued and buffered groups. */
  queueBytes: number
  /** Bytes of bodies that are being read and checked at one time. */
  bodyBytes: number
  /** How long a push is held before it is sent away. */
  holdMs: number
}

interface HeldPush {
  readonly bytes: number
  readonly settle: (entered: boolean) => void
}

/**
 * Lets pushes in while there is room, and holds the others in their order: their bodies stay unread, so that a full
 * server slows its producers down instead of growing.
 */
export class QueueGate {
  readonly #live: LiveRun
  readonly #limits: QueueGateLimits
  readonly #held: HeldPush[] = []
  readonly #stopListening: () => void
  #inside = 0

  constructor(live: LiveRun, limits: QueueGateLimits) {
    this.#live = live
    this.#limits = limits
    this.#stopListening = live.onChange(() => this.#letIn())
  }

  get held(): number {
    return this.#held.length
  }

  /** Bytes of bodies inside. */
  get inside(): number {
    return this.#inside
  }

  get isFull(): boolean {
    return this.#held.length > 0 || !this.#hasRoom(0)
  }

  /** Resolves to true when a push of about this many bytes may be read: call `leave` afterwards. */
  async enter(bytes: number, signal: AbortSignal): Promise<boolean> {
    if (this.#held.length === 0 && this.#hasRoom(bytes)) {
      this.#inside += bytes
      return true
    }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const push: HeldPush = { bytes, settle: resolve }
    this.#held.push(push)
    const giveUp = (): void => {
      const place = this.#held.indexOf(push)
      if (place === -1) return
      this.#held.splice(place, 1)
      resolve(false)
      this.#letIn()
    }
    const timer = setTimeout(giveUp, this.#limits.holdMs)
    signal.addEventListener("abort", giveUp, { once: true })
    const entered = await promise
    clearTimeout(timer)
    signal.removeEventListener("abort", giveUp)
    return entered
  }

  leave(bytes: number): void {
    this.#inside -= bytes
    this.#letIn()
  }

  /** Sends away those that are held. */
  close(): void {
    this.#stopListening()
    for (const push of this.#held.splice(0)) push.settle(false)
  }

  #letIn(): void {
    for (let next = this.#held[0]; next !== undefined && this.#hasRoom(next.bytes); next = this.#held[0]) {
      this.#held.shift()
      this.#inside += next.bytes
      next.settle(true)
    }
  }

  /** One push is always let in, however large: it could never enter otherwise. */
  #hasRoom(bytes: number): boolean {
    const queued = this.#live.run.table.totalBytes
    const fitsQueue = queued === 0 || queued + this.#inside < this.#limits.queueBytes
    return fitsQueue && (this.#inside === 0 || this.#inside + bytes <= this.#limits.bodyBytes)
  }
}
