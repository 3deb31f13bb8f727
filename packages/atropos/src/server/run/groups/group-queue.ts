import { emptyList, type GroupList, insertGroup, type Links, unlinkGroup } from "./group-list.ts"
import { type GroupTable, noEnvironment } from "./group-table.ts"

/** Groups of one size, of the whole queue or of one owner. The list holds those that a batch can still take. */
export interface SizeClass extends GroupList {
  readonly size: number
  /** Groups that count as queued: those in the list and those of batches that were formed but not yet delivered. */
  counted: number
}

/** Whom groups count for: an environment, or all that have none together. Sums leave out what is set aside. */
export interface Owner {
  readonly classes: Map<number, SizeClass>
  /** Sequences that count as queued. */
  queued: number
  /** Sequences that a batch can take. */
  available: number
}

export function createOwner(): Owner {
  return { classes: new Map(), queued: 0, available: 0 }
}

/**
 * The queue: groups in order, indexed by size and by owner and size, so that nothing has to walk it.
 *
 * A group that is larger than `limit`, the batch size, is set aside: it keeps its place but nothing counts it.
 */
export class GroupQueue {
  readonly table: GroupTable
  readonly sizeLinks: Links
  readonly ownLinks: Links
  readonly classes: Map<number, SizeClass> = new Map()
  /** Classes with counted groups that are not set aside, by ascending size. */
  readonly sizes: SizeClass[] = []
  readonly unowned: Owner = createOwner()
  readonly owners: Owner[] = []
  /** Owners whose `queued` has changed since somebody cleared this. */
  readonly changedOwners: Set<Owner> = new Set()
  groups = 0
  sequences = 0
  available = 0
  /** Grows with every change of what a batch could take. */
  revision = 0
  #limit: number = Infinity
  #nextKey = 0
  #frontKey = 0

  constructor(table: GroupTable) {
    this.table = table
    this.sizeLinks = {
      get keys() {
        return table.keys
      },
      get next() {
        return table.sizeNext
      },
      get previous() {
        return table.sizePrevious
      },
    }
    this.ownLinks = {
      get keys() {
        return table.keys
      },
      get next() {
        return table.ownNext
      },
      get previous() {
        return table.ownPrevious
      },
    }
  }

  get limit(): number {
    return this.#limit
  }

  get keyBounds(): { next: number; front: number } {
    return { next: this.#nextKey, front: this.#frontKey }
  }

  restoreKeyBounds(bounds: { next: number; front: number }): void {
    this.#nextKey = bounds.next
    this.#frontKey = bounds.front
  }

  /** The largest size that counts, at least 1. */
  get largestSize(): number {
    return this.sizes.at(-1)?.size ?? 1
  }

  /** A key behind all that were given. */
  newKey(): number {
    return this.#nextKey++
  }

  ownerOf(slot: number): Owner {
    return this.ownerNamed(this.table.environmentOf(slot))
  }

  ownerNamed(environment: number): Owner {
    return (environment === noEnvironment ? undefined : this.owners[environment]) ?? this.unowned
  }

  /** Takes a group in, at the place its key says. */
  enqueue(slot: number): void {
    this.#link(slot)
    this.#count(slot, 1)
  }

  /** Puts groups before all others, in their order. */
  enqueueAtFront(slots: readonly number[]): void {
    this.#frontKey -= slots.length
    for (const [index, slot] of slots.entries()) {
      this.table.keys[slot] = this.#frontKey + index
      this.enqueue(slot)
    }
  }

  /** The group is in a batch now. It counts as queued until the batch is delivered. */
  reserve(slot: number): void {
    const size = this.table.sizeOf(slot)
    const owner = this.ownerOf(slot)
    this.revision += 1
    const whole = this.classes.get(size)
    const own = owner.classes.get(size)
    if (whole !== undefined) unlinkGroup(whole, this.sizeLinks, slot)
    if (own !== undefined) unlinkGroup(own, this.ownLinks, slot)
    if (size > this.#limit) return
    owner.available -= size
    this.available -= size
  }

  /** Undoes `reserve`: the group is back in its old place. */
  restore(slot: number): void {
    this.#link(slot)
  }

  /** Takes in a group that is reserved already. */
  enqueueReserved(slot: number): void {
    this.#count(slot, 1)
  }

  /** A reserved group has left with its batch. */
  discount(slot: number): void {
    this.#count(slot, -1)
  }

  /** A new batch size: what is larger is set aside, what is no longer larger is back in its old place. */
  setLimit(limit: number): void {
    this.#limit = limit
    this.revision += 1
    this.groups = 0
    for (const owner of [this.unowned, ...this.owners]) {
      owner.queued = 0
      owner.available = 0
      for (const { size, count, counted } of owner.classes.values()) {
        if (size > limit) continue
        owner.queued += size * counted
        owner.available += size * count
      }
      this.changedOwners.add(owner)
    }
    this.sizes.length = 0
    for (const entry of this.classes.values()) {
      if (entry.size > limit || entry.counted === 0) continue
      this.groups += entry.counted
      this.sizes.push(entry)
    }
    this.sizes.sort((a, b) => a.size - b.size)
    this.sequences = this.sizes.reduce((sum, { size, counted }) => sum + size * counted, 0)
    this.available = this.sizes.reduce((sum, { size, count }) => sum + size * count, 0)
  }

  #link(slot: number): void {
    const size = this.table.sizeOf(slot)
    const owner = this.ownerOf(slot)
    this.revision += 1
    insertGroup(classOf(this.classes, size), this.sizeLinks, slot)
    insertGroup(classOf(owner.classes, size), this.ownLinks, slot)
    if (size > this.#limit) return
    owner.available += size
    this.available += size
  }

  #count(slot: number, change: 1 | -1): void {
    const size = this.table.sizeOf(slot)
    const owner = this.ownerOf(slot)
    const whole = classOf(this.classes, size)
    const own = classOf(owner.classes, size)
    whole.counted += change
    own.counted += change
    if (own.counted === 0) owner.classes.delete(size)
    if (size <= this.#limit) {
      owner.queued += change * size
      this.changedOwners.add(owner)
      this.groups += change
      this.sequences += change * size
      if (change === 1 && whole.counted === 1) this.sizes.splice(this.#placeOf(size), 0, whole)
      if (whole.counted === 0) this.sizes.splice(this.#placeOf(size), 1)
    }
    if (whole.counted === 0) this.classes.delete(size)
  }

  #placeOf(size: number): number {
    let low = 0
    let high = this.sizes.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((this.sizes[middle]?.size ?? 0) < size) low = middle + 1
      else high = middle
    }
    return low
  }
}

function classOf(classes: Map<number, SizeClass>, size: number): SizeClass {
  let found = classes.get(size)
  if (found === undefined) {
    found = { size, counted: 0, ...emptyList() }
    classes.set(size, found)
  }
  return found
}
