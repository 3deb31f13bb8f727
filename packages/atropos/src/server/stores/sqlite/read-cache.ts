import type { HeldPayload } from "../held-payload.ts"

/** What an entry costs besides its memory. */
const entryBytes = 512

/**
 * Payloads that were written, so that a trainer that keeps up with its environments is served from
 * memory. It takes what fits and evicts nothing for what comes later: a queue is read from its head, and what is
 * evicted for a newcomer would have been read before it. When a few times its size has been turned away since it
 * last took something, its content is of no use (groups that no batch takes), and it begins anew.
 */
export class ReadCache {
  readonly #maxBytes: number
  readonly #entries = new Map<number, HeldPayload>()
  /** Of entries and of reservations. */
  #bytes = 0
  #reservedBytes = 0
  #turnedAwayBytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get(groupId: number): HeldPayload | undefined {
    return this.#entries.get(groupId)
  }

  /** Sets room aside for an entry that will be filled or cancelled. False when there is none. */
  reserve(memoryBytes: number): boolean {
    const bytes = memoryBytes + entryBytes
    if (this.#bytes + bytes > this.#maxBytes) {
      this.#turnedAwayBytes += bytes
      if (this.#turnedAwayBytes > 4 * this.#maxBytes) this.clear()
      return false
    }
    this.#turnedAwayBytes = 0
    this.#bytes += bytes
    this.#reservedBytes += bytes
    return true
  }

  fill(groupId: number, payload: HeldPayload): void {
    this.#reservedBytes -= payload.memoryBytes + entryBytes
    this.#entries.set(groupId, payload)
  }

  cancel(memoryBytes: number): void {
    this.#reservedBytes -= memoryBytes + entryBytes
    this.#bytes -= memoryBytes + entryBytes
  }

  delete(groupId: number): void {
    const payload = this.#entries.get(groupId)
    if (payload === undefined) return
    this.#entries.delete(groupId)
    this.#bytes -= payload.memoryBytes + entryBytes
    payload.free()
  }

  clear(): void {
    for (const payload of this.#entries.values()) payload.free()
    this.#entries.clear()
    this.#bytes = this.#reservedBytes
    this.#turnedAwayBytes = 0
  }
}
