import { chooseExact } from "../forming/exact-rule.ts"
import { emptyList, type GroupList, insertGroup, type Links, unlinkGroup } from "./group-list.ts"
import type { GroupTable } from "./group-table.ts"

/** Groups of one environment that are smaller than its group size and wait for others to complete it. */
export class GroupBuffer {
  readonly #table: GroupTable
  readonly #links: Links
  readonly #classes = new Map<number, GroupList & { readonly size: number }>()
  sequences = 0

  constructor(table: GroupTable, links: Links) {
    this.#table = table
    this.#links = links
  }

  /**
   * Adds a group and, when some now sum to exactly `groupSize`, takes those out: the oldest first, each when the
   * newer ones can still complete the sum.
   */
  add(slot: number, groupSize: number): number[] {
    this.put(slot)
    if (this.sequences < groupSize) return []
    const complete = chooseExact(this.#bySize(), this.#links, groupSize) ?? []
    for (const taken of complete) {
      const size = this.#table.sizeOf(taken)
      const list = this.#classes.get(size)
      if (list === undefined) continue
      unlinkGroup(list, this.#links, taken)
      if (list.count === 0) this.#classes.delete(size)
      this.sequences -= size
    }
    return complete
  }

  /** Adds a group and looks no further. */
  put(slot: number): void {
    const size = this.#table.sizeOf(slot)
    let list = this.#classes.get(size)
    if (list === undefined) {
      list = { size, ...emptyList() }
      this.#classes.set(size, list)
    }
    insertGroup(list, this.#links, slot)
    this.sequences += size
  }

  #bySize(): (GroupList & { readonly size: number })[] {
    return [...this.#classes.values()].toSorted((a, b) => a.size - b.size)
  }

  /** All groups, in no particular order. */
  *slots(): Generator<number> {
    for (const { head, count } of this.#classes.values()) {
      let slot = head
      for (let left = count; left > 0; left--) {
        yield slot
        slot = this.#links.next[slot] ?? 0
      }
    }
  }
}
