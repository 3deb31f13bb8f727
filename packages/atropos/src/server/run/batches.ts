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
  /** How often it was handed out: the newest hand-out is the one that counts. */
  handouts: number
}

/** One hand-out of a batch: what a trainer acknowledges. */
export interface HandoutName {
  readonly batch: number
  readonly handout: number
}

/** The first hand-out has the batch's own number; those after it, which only a cut answer or a crash brings, add theirs. */
export function formatHandout({ batch, handout }: HandoutName): string {
  return handout === 1 ? String(batch) : `${batch}.${handout}`
}

/** Null when no hand-out has that name. */
export function parseHandout(text: string): HandoutName | null {
  const [, batch, handout = "1"] = /^(\d{1,15})(?:\.(\d{1,15}))?$/.exec(text) ?? []
  if (batch === undefined) return null
  const name = { batch: Number(batch), handout: Number(handout) }
  return formatHandout(name) === text ? name : null
}

/** What has become of a hand-out; `returned`: its groups went back to the queue. */
export type HandoutState = "open" | "settled" | "returned" | "handed-out-again" | "unknown"

/** Of how many batches it is known that they were returned, or settled by a later hand-out than the first. */
const knownEnds = 1000

/** Batches that were formed, and those that were delivered and wait to be acknowledged. */
export class BatchTable {
  readonly open: Map<number, Batch> = new Map()
  /** Batches whose groups went back to the queue. */
  readonly returned: Set<number> = new Set()
  /** The hand-outs that settled those batches that the first did not. */
  readonly settledBy: Map<number, number> = new Map()
  nextId = 1
  /** The first id whose end is known: the first of this run, or one after those that were forgotten. */
  firstId = 1

  add(slots: readonly number[], sequences: number, epoch: number): Batch {
    const batch: Batch = { id: this.nextId++, slots, sequences, epoch, deadline: null, delivered: false, handouts: 1 }
    this.open.set(batch.id, batch)
    return batch
  }

  settle(batch: Batch): void {
    this.open.delete(batch.id)
    if (batch.handouts === 1) return
    this.settledBy.set(batch.id, batch.handouts)
    this.#forget(this.settledBy)
  }

  markReturned(id: number): void {
    this.open.delete(id)
    this.returned.add(id)
    this.#forget(this.returned)
  }

  /** What is forgotten must not look like a batch that its first hand-out settled. */
  #forget(known: Set<number> | Map<number, number>): void {
    for (const oldest of known.keys()) {
      if (known.size <= knownEnds) break
      known.delete(oldest)
      this.firstId = Math.max(this.firstId, oldest + 1)
    }
  }

  /** A new run: ids go on, and nothing is known of those before. */
  clear(): void {
    this.open.clear()
    this.returned.clear()
    this.settledBy.clear()
    this.firstId = this.nextId
  }

  /** Those that are not delivered, oldest first. */
  *formed(): Generator<Batch> {
    for (const batch of this.open.values()) if (!batch.delivered) yield batch
  }

  stateOf({ batch: id, handout }: HandoutName): HandoutState {
    if (this.returned.has(id)) return "returned"
    const batch = this.open.get(id)
    const isKnown = batch !== undefined || this.settledBy.has(id) || (id >= this.firstId && id < this.nextId)
    const newest = batch?.handouts ?? this.settledBy.get(id) ?? 1
    if (!isKnown || handout < 1 || handout > newest) return "unknown"
    if (handout < newest) return "handed-out-again"
    return batch === undefined ? "settled" : "open"
  }
}
