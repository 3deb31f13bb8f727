/** A batch from its forming until nobody needs it any more. */
export interface Batch {
  readonly id: number
  /** Its groups, in the order of the batch. */
  readonly slots: readonly number[]
  readonly sequences: number
  /** The registration it was formed for. */
  readonly epoch: number
  /** When it goes back to the queue unless it is acknowledged; null until it is delivered. */
  deadline: number | null
  delivered: boolean
}

/** How many ids of returned batches are known, so that a late acknowledgement gets a true answer. */
const knownReturned = 1000

/** Batches that were formed, and those that were delivered and wait to be acknowledged. */
export class BatchTable {
  readonly open: Map<number, Batch> = new Map()
  readonly returned: Set<number> = new Set()
  nextId = 1
  /** The first id of this run. */
  firstId = 1

  add(slots: readonly number[], sequences: number, epoch: number): Batch {
    const batch: Batch = { id: this.nextId++, slots, sequences, epoch, deadline: null, delivered: false }
    this.open.set(batch.id, batch)
    return batch
  }

  settle(batch: Batch): void {
    this.open.delete(batch.id)
  }

  markReturned(id: number): void {
    this.open.delete(id)
    this.returned.add(id)
    for (const oldest of this.returned) {
      if (this.returned.size <= knownReturned) break
      this.returned.delete(oldest)
    }
  }

  /** A new run: ids go on, and nothing is known of those before. */
  clear(): void {
    this.open.clear()
    this.returned.clear()
    this.firstId = this.nextId
  }

  /** Those that are not delivered, oldest first. */
  *formed(): Generator<Batch> {
    for (const batch of this.open.values()) if (!batch.delivered) yield batch
  }

  /** What has become of a batch. */
  stateOf(id: number): "open" | "settled" | "returned" | "unknown" {
    if (this.open.has(id)) return "open"
    if (this.returned.has(id)) return "returned"
    return id >= this.firstId && id < this.nextId ? "settled" : "unknown"
  }
}
