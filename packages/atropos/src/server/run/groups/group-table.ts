/** What the run knows of a group; its bytes are in the store. */
export interface GroupFacts {
  id: number
  /** Sequences. */
  size: number
  /** The environment it counts for, or `noEnvironment`. */
  environment: number
  /** Bytes of its stored form. */
  bytes: number
  /** The run's step when it arrived. */
  step: number
}

export const noEnvironment = -1
export const noSlot = -1

const pageBits = 8
const pageSize = 1 << pageBits
const leastCapacity = 1024

interface IdPage {
  slots: Int32Array
  used: number
}

/**
 * The groups of a run as columns: about 60 bytes a group, however many there are. A slot names a group while it is
 * in the table and is used again afterwards; ids are for ever.
 */
export class GroupTable {
  ids: Float64Array = new Float64Array(leastCapacity)
  /** Where the group stands in the order of its queue or buffer: smaller is older. */
  keys: Float64Array = new Float64Array(leastCapacity)
  sizes: Int32Array = new Int32Array(leastCapacity)
  environments: Int32Array = new Int32Array(leastCapacity)
  bytes: Float64Array = new Float64Array(leastCapacity)
  steps: Float64Array = new Float64Array(leastCapacity)
  /** Links of the list of groups of one size, and of the list of groups of one size and environment. */
  sizeNext: Int32Array = new Int32Array(leastCapacity)
  sizePrevious: Int32Array = new Int32Array(leastCapacity)
  ownNext: Int32Array = new Int32Array(leastCapacity)
  ownPrevious: Int32Array = new Int32Array(leastCapacity)
  count = 0
  totalBytes = 0
  #capacity = leastCapacity
  /** Slots from here on were never used. */
  #fresh = 0
  /** Head of the list of freed slots, linked by `sizeNext`. */
  #freed: number = noSlot
  readonly #pages = new Map<number, IdPage>()

  add(group: GroupFacts, key: number): number {
    const slot = this.#takeSlot()
    this.ids[slot] = group.id
    this.keys[slot] = key
    this.sizes[slot] = group.size
    this.environments[slot] = group.environment
    this.bytes[slot] = group.bytes
    this.steps[slot] = group.step
    this.count += 1
    this.totalBytes += group.bytes
    const number = Math.floor(group.id / pageSize)
    let page = this.#pages.get(number)
    if (page === undefined) {
      page = { slots: new Int32Array(pageSize).fill(noSlot), used: 0 }
      this.#pages.set(number, page)
    }
    page.slots[group.id % pageSize] = slot
    page.used += 1
    return slot
  }

  remove(slot: number): void {
    const id = this.idOf(slot)
    const number = Math.floor(id / pageSize)
    const page = this.#pages.get(number)
    if (page !== undefined) {
      page.slots[id % pageSize] = noSlot
      page.used -= 1
      if (page.used === 0) this.#pages.delete(number)
    }
    this.count -= 1
    this.totalBytes -= this.bytes[slot] ?? 0
    this.sizeNext[slot] = this.#freed
    this.#freed = slot
    if (this.count === 0) this.#startOver()
  }

  /** The slot of a group that is in the table. */
  slotOf(id: number): number | undefined {
    const slot = this.#pages.get(Math.floor(id / pageSize))?.slots[id % pageSize] ?? noSlot
    return slot === noSlot ? undefined : slot
  }

  idOf(slot: number): number {
    return this.ids[slot] ?? 0
  }

  keyOf(slot: number): number {
    return this.keys[slot] ?? 0
  }

  sizeOf(slot: number): number {
    return this.sizes[slot] ?? 0
  }

  environmentOf(slot: number): number {
    return this.environments[slot] ?? noEnvironment
  }

  factsOf(slot: number): GroupFacts {
    return {
      id: this.idOf(slot),
      size: this.sizeOf(slot),
      environment: this.environmentOf(slot),
      bytes: this.bytes[slot] ?? 0,
      step: this.steps[slot] ?? 0,
    }
  }

  #takeSlot(): number {
    const slot = this.#freed
    if (slot !== noSlot) {
      this.#freed = this.sizeNext[slot] ?? noSlot
      return slot
    }
    if (this.#fresh === this.#capacity) this.#resize(this.#capacity * 2)
    return this.#fresh++
  }

  /** A queue that was long and is empty gives its memory back. */
  #startOver(): void {
    this.#freed = noSlot
    this.#fresh = 0
    this.totalBytes = 0
    if (this.#capacity > leastCapacity) this.#resize(leastCapacity)
  }

  #resize(capacity: number): void {
    const double = (column: Float64Array): Float64Array => copyInto(new Float64Array(capacity), column)
    const single = (column: Int32Array): Int32Array => copyInto(new Int32Array(capacity), column)
    this.#capacity = capacity
    this.ids = double(this.ids)
    this.keys = double(this.keys)
    this.bytes = double(this.bytes)
    this.steps = double(this.steps)
    this.sizes = single(this.sizes)
    this.environments = single(this.environments)
    this.sizeNext = single(this.sizeNext)
    this.sizePrevious = single(this.sizePrevious)
    this.ownNext = single(this.ownNext)
    this.ownPrevious = single(this.ownPrevious)
  }
}

function copyInto<Column extends Float64Array | Int32Array>(target: Column, source: Column): Column {
  target.set(source.length <= target.length ? source : source.subarray(0, target.length))
  return target
}
