import { isCompactionDue } from "./compaction.ts"
import { HeldPayload } from "./held-payload.ts"
import { closedStore, duplicateGroup, unknownGroup } from "./store-errors.ts"
import { type Commit, defaultRetainBytes, type Payload, type Recovered, type Store } from "./store.ts"

export interface MemoryStoreOptions {
  /** Bytes of released groups to keep. @default 10 GB */
  retainBytes?: number
}

/** A run that ends with its process. Everything it holds is in memory, released groups up to `retainBytes` too. */
export function createMemoryStore(options: MemoryStoreOptions = {}): Store {
  return new MemoryStore(options.retainBytes ?? defaultRetainBytes)
}

class MemoryStore implements Store {
  readonly kind = "memory"
  readonly #retainBytes: number
  readonly #payloads = new Map<number, HeldPayload>()
  /** In the order of release, which is the order in which they go. */
  readonly #released = new Set<number>()
  #payloadBytes = 0
  #releasedBytes = 0
  #snapshot: string | null = null
  #events: string[] = []
  #eventBytes = 0
  #unseenFailure: Error | null = null
  #closed = false

  constructor(retainBytes: number) {
    this.#retainBytes = retainBytes
  }

  get payloadBytes(): number {
    return this.#payloadBytes
  }

  get compactionDue(): boolean {
    return isCompactionDue(this.#eventBytes, this.#snapshot?.length ?? 0)
  }

  async recover(): Promise<Recovered> {
    this.#requireOpen()
    return { snapshot: this.#snapshot, events: [...this.#events] }
  }

  commit(commit: Commit): Promise<void> {
    return this.#change(() => this.#apply(commit))
  }

  async read(groupId: number): Promise<Payload> {
    this.#requireOpen()
    const payload = this.#payloads.get(groupId)
    if (payload === undefined) throw unknownGroup(groupId)
    return payload.share()
  }

  compact(snapshot: string): Promise<void> {
    return this.#change(() => {
      this.#snapshot = snapshot
      this.#events = []
      this.#eventBytes = 0
    })
  }

  async close(): Promise<void> {
    this.#closed = true
  }

  /** Until the caller has seen a rejection, what it calls is rejected too. */
  #change(work: () => void): Promise<void> {
    try {
      this.#requireOpen()
      if (this.#unseenFailure !== null) throw this.#unseenFailure
      work()
      return Promise.resolve()
    } catch (error) {
      const failure = error instanceof Error ? error : new Error(String(error))
      this.#unseenFailure = failure
      const rejection = Promise.reject(failure)
      // Runs before whatever the caller attaches, thus before it can call again knowing of the failure.
      rejection.catch(() => (this.#unseenFailure = null))
      return rejection
    }
  }

  #apply(commit: Commit): void {
    const ids = new Set<number>()
    for (const { groupId } of commit.payloads) {
      if (this.#payloads.has(groupId) || ids.has(groupId)) throw duplicateGroup(groupId)
      ids.add(groupId)
    }
    for (const event of commit.events) {
      this.#events.push(event)
      this.#eventBytes += event.length
    }
    if (commit.beginsRun === true) for (const groupId of this.#payloads.keys()) this.#release(groupId)
    for (const { groupId, ...payload } of commit.payloads) {
      this.#payloads.set(groupId, new HeldPayload(payload))
      this.#payloadBytes += payload.segment.length
    }
    for (const groupId of commit.released ?? []) this.#release(groupId)
    this.#dropOldest()
  }

  #release(groupId: number): void {
    const payload = this.#payloads.get(groupId)
    if (payload === undefined || this.#released.has(groupId)) return
    this.#released.add(groupId)
    this.#releasedBytes += payload.segmentBytes
  }

  #dropOldest(): void {
    for (const groupId of this.#released) {
      if (this.#releasedBytes <= this.#retainBytes) return
      const payload = this.#payloads.get(groupId)
      const bytes = payload?.segmentBytes ?? 0
      this.#released.delete(groupId)
      this.#payloads.delete(groupId)
      payload?.free()
      this.#releasedBytes -= bytes
      this.#payloadBytes -= bytes
    }
  }

  #requireOpen(): void {
    if (this.#closed) throw closedStore()
  }
}
