import { noSlot } from "./group-table.ts"

/** A list of groups, oldest first, linked through columns of the group table. */
export interface GroupList {
  head: number
  tail: number
  count: number
}

/** The columns that link one family of lists. They are looked up on every use, since the table replaces them as it grows. */
export interface Links {
  readonly keys: Float64Array
  readonly next: Int32Array
  readonly previous: Int32Array
}

export function emptyList(): GroupList {
  return { head: noSlot, tail: noSlot, count: 0 }
}

/** Puts a group where its key belongs, looking from the end that is nearer for new and for returned groups. */
export function insertGroup(list: GroupList, links: Links, slot: number): void {
  const { keys, next, previous } = links
  const key = keys[slot] ?? 0
  let before = list.tail
  let after = noSlot
  if (before !== noSlot && (keys[before] ?? 0) > key) {
    after = list.head
    while (after !== noSlot && (keys[after] ?? 0) < key) after = next[after] ?? noSlot
    before = after === noSlot ? list.tail : (previous[after] ?? noSlot)
  }
  previous[slot] = before
  next[slot] = after
  if (before === noSlot) list.head = slot
  else next[before] = slot
  if (after === noSlot) list.tail = slot
  else previous[after] = slot
  list.count += 1
}

export function unlinkGroup(list: GroupList, { next, previous }: Links, slot: number): void {
  const before = previous[slot] ?? noSlot
  const after = next[slot] ?? noSlot
  if (before === noSlot) list.head = after
  else next[before] = after
  if (after === noSlot) list.tail = before
  else previous[after] = before
  list.count -= 1
}
