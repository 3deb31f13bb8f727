import type { GroupList, Links } from "../groups/group-list.ts"
import { noSlot } from "../groups/group-table.ts"

/** Groups of one size, oldest first, and how far a selection has come in them. */
export interface Candidates {
  readonly size: number
  /** Where they stand among the others of their set. */
  readonly place: number
  readonly set: CandidateSet
  /** The oldest that was not taken. */
  cursor: number
  /** How many were not taken, and how many were. */
  left: number
  taken: number
  /** No exact batch can hold another of these. */
  refused: boolean
}

/** Candidates of several sizes, with the oldest of them at hand. */
export class CandidateSet {
  /** By ascending size. */
  readonly all: readonly Candidates[]
  readonly #links: Links
  readonly #gone: ReadonlySet<number>
  /** A tournament by age: the winner of each pair, the pairs of winners, and so on; the final is at 1. */
  readonly #winners: Int32Array
  readonly #keys: Float64Array
  readonly #leaves: number

  /**
   * `classes` come by ascending size. Groups that are `gone`, of which `goneOfSize` tells the number, were taken
   * through another set.
   */
  constructor(
    classes: readonly (GroupList & { readonly size: number })[],
    links: Links,
    gone: ReadonlySet<number> = new Set(),
    goneOfSize: ReadonlyMap<number, number> = new Map(),
  ) {
    this.#links = links
    this.#gone = gone
    this.all = classes.map(({ size, head, count }, place) => {
      const left = count - (goneOfSize.get(size) ?? 0)
      return { size, place, set: this, cursor: this.#firstFrom(head), left, taken: 0, refused: false }
    })
    this.#leaves = 2 ** Math.ceil(Math.log2(Math.max(1, classes.length)))
    this.#winners = new Int32Array(2 * this.#leaves)
    this.#keys = new Float64Array(this.#leaves).fill(Infinity)
    for (const candidates of this.all) this.#keys[candidates.place] = this.#keyOf(candidates)
    for (let leaf = 0; leaf < this.#leaves; leaf++) this.#winners[this.#leaves + leaf] = leaf
    for (let node = this.#leaves - 1; node >= 1; node--) this.#play(node)
  }

  /** Where the oldest of all stands. */
  get oldestKey(): number {
    return this.#keys[this.#winners[1] ?? 0] ?? Infinity
  }

  /** The candidates whose oldest group is the oldest of all with up to `largest` sequences. */
  oldest(largest: number): Candidates | null {
    let best = -1
    let bestKey = Infinity
    // The whole subtrees that lie before the first size that is too large.
    let from = this.#leaves
    let to = this.#leaves + this.#countUpTo(largest)
    const look = (node: number): void => {
      const leaf = this.#winners[node] ?? 0
      const key = this.#keys[leaf] ?? Infinity
      if (key >= bestKey) return
      best = leaf
      bestKey = key
    }
    while (from < to) {
      if (from % 2 === 1) look(from++)
      if (to % 2 === 1) look(--to)
      from >>= 1
      to >>= 1
    }
    return this.all[best] ?? null
  }

  /** Goes on to the next group, and gives the one that was taken. */
  advance(candidates: Candidates): number {
    const slot = candidates.cursor
    candidates.cursor = this.#firstFrom(this.#links.next[slot] ?? noSlot)
    candidates.left -= 1
    candidates.taken += 1
    this.#changed(candidates)
    return slot
  }

  /** Undoes `advance`. */
  goBack(candidates: Candidates, slot: number): void {
    candidates.cursor = slot
    candidates.left += 1
    candidates.taken -= 1
    this.#changed(candidates)
  }

  refuse(candidates: Candidates): void {
    candidates.refused = true
    this.#changed(candidates)
  }

  /** What is left and not refused, by ascending size. */
  counts(): { size: number; count: number }[] {
    return this.all.map(({ size, left, refused }) => ({ size, count: refused ? 0 : left }))
  }

  #changed(candidates: Candidates): void {
    this.#keys[candidates.place] = this.#keyOf(candidates)
    for (let node = (this.#leaves + candidates.place) >> 1; node >= 1; node >>= 1) this.#play(node)
  }

  #play(node: number): void {
    const left = this.#winners[2 * node] ?? 0
    const right = this.#winners[2 * node + 1] ?? 0
    this.#winners[node] = (this.#keys[left] ?? Infinity) <= (this.#keys[right] ?? Infinity) ? left : right
  }

  #keyOf({ cursor, left, refused }: Candidates): number {
    return refused || left === 0 ? Infinity : (this.#links.keys[cursor] ?? Infinity)
  }

  #firstFrom(head: number): number {
    let slot = head
    while (slot !== noSlot && this.#gone.has(slot)) slot = this.#links.next[slot] ?? noSlot
    return slot
  }

  #countUpTo(largest: number): number {
    let low = 0
    let high = this.all.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.all[middle]?.size ?? Infinity) <= largest) low = middle + 1
      else high = middle
    }
    return low
  }
}
