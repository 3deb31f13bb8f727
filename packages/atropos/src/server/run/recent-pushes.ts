/** What a push was answered with: how many groups, how many went to a buffer, and what the last of those left there. */
export interface PushOutcome {
  readonly groups: number
  readonly buffered: number
  readonly bufferSize: number
}

interface KeyedPush {
  readonly digest: string
  readonly outcome: PushOutcome
}

interface UnansweredPush {
  readonly time: number
  readonly outcome: PushOutcome
  /** Pushes of these bytes whose answer is being written. */
  open: number
  /** The connection broke before the answer was written, or the server died: the same bytes are a retry. */
  lost: boolean
}

/** For how long the bytes of a push whose answer was lost are known. */
export const retryWindowMs = 60_000

/**
 * What makes a repeated push count once: pushes by their Idempotency-Key, the newest `maxKeys` of them, and pushes
 * without one whose answer has not been written, by their bytes. A push with a key is never told by its bytes: whoever
 * gives equal groups different keys means them all.
 */
export class RecentPushes {
  readonly #maxKeys: number
  readonly #keyed = new Map<string, KeyedPush>()
  readonly #unanswered = new Map<string, UnansweredPush>()

  constructor(maxKeys: number) {
    this.#maxKeys = maxKeys
  }

  add(push: { key: string | null; digest: string; time: number }, outcome: PushOutcome): void {
    if (push.key !== null) {
      this.#keyed.set(push.key, { digest: push.digest, outcome })
      for (const oldest of this.#keyed.keys()) {
        if (this.#keyed.size <= this.#maxKeys) break
        this.#keyed.delete(oldest)
      }
      return
    }
    const same = this.#unanswered.get(push.digest)
    if (same === undefined) this.#unanswered.set(push.digest, { time: push.time, outcome, open: 1, lost: false })
    else same.open += 1
  }

  findKey(key: string): KeyedPush | undefined {
    return this.#keyed.get(key)
  }

  /** The outcome of an earlier push of the same bytes whose answer got lost. */
  findLost(digest: string, now: number): PushOutcome | undefined {
    const found = this.#unanswered.get(digest)
    return found !== undefined && found.lost && now - found.time <= retryWindowMs ? found.outcome : undefined
  }

  /** The answer to a push of these bytes, or to its retry, has been written. */
  answered(digest: string): void {
    const push = this.#unanswered.get(digest)
    if (push === undefined) return
    if (push.open > 0) push.open -= 1
    else push.lost = false
    if (push.open === 0 && !push.lost) this.#unanswered.delete(digest)
  }

  /** The answer to a push of these bytes could not be written. */
  lose(digest: string, now: number): void {
    const push = this.#unanswered.get(digest)
    if (push !== undefined) {
      push.open = Math.max(0, push.open - 1)
      push.lost = true
    }
    this.#forgetOld(now)
  }

  /** After a restart nobody waits for an answer any more. */
  loseAll(now: number): void {
    for (const push of this.#unanswered.values()) {
      push.open = 0
      push.lost = true
    }
    this.#forgetOld(now)
  }

  /** They are in the order of their arrival, so the old ones come first. */
  #forgetOld(now: number): void {
    for (const [digest, { time }] of this.#unanswered) {
      if (now - time <= retryWindowMs) break
      this.#unanswered.delete(digest)
    }
  }

  get snapshot(): RecentPushesSnapshot {
    const unanswered = Array.from(this.#unanswered, ([digest, push]) => ({ digest, ...push }))
    return { keyed: [...this.#keyed], unanswered }
  }

  restore(snapshot: RecentPushesSnapshot): void {
    for (const [key, push] of snapshot.keyed) this.#keyed.set(key, push)
    for (const { digest, ...push } of snapshot.unanswered) this.#unanswered.set(digest, push)
  }
}

export interface RecentPushesSnapshot {
  readonly keyed: readonly (readonly [string, KeyedPush])[]
  readonly unanswered: readonly ({ readonly digest: string } & UnansweredPush)[]
}
