import type { GroupList, Links } from "../groups/group-list.ts"
import { noSlot } from "../groups/group-table.ts"

interface Pack {
  readonly size: number
  readonly first: number
  readonly last: number
  /** Where its last group stands: packs come in the order in which they were completed. */
  readonly completed: number
}

/**
 * The pack rule, for sizes that all divide the largest one: groups of a size make packs of the largest size, and
 * packs go in the order of their completion. Null when the sizes do not pack, when the complete packs end before
 * `target`, or when the sum jumps over it.
 */
export function choosePacks(
  classes: readonly (GroupList & { readonly size: number })[],
  links: Links,
  target: number,
): number[] | null {
  const largest = classes.reduce((size, entry) => Math.max(size, entry.size), 1)
  if (classes.some(({ size }) => largest % size !== 0)) return null
  const packs = classes.map(({ size, head }) => packFrom(size, head, largest, links))
  const taken: number[] = []
  let sum = 0
  while (sum < target) {
    const index = indexOfEarliest(packs)
    const pack = packs[index]
    if (pack === undefined || pack === null) return null
    for (let slot = pack.first; ; slot = links.next[slot] ?? noSlot) {
      taken.push(slot)
      sum += pack.size
      if (sum >= target || slot === pack.last) break
    }
    packs[index] = packFrom(pack.size, links.next[pack.last] ?? noSlot, largest, links)
  }
  return sum === target ? taken : null
}

function packFrom(size: number, first: number, largest: number, links: Links): Pack | null {
  let last = first
  for (let groups = largest / size; groups > 1 && last !== noSlot; groups--) last = links.next[last] ?? noSlot
  return last === noSlot ? null : { size, first, last, completed: links.keys[last] ?? 0 }
}

function indexOfEarliest(packs: readonly (Pack | null)[]): number {
  let best = -1
  let bestKey = Infinity
  for (const [index, pack] of packs.entries()) {
    if (pack !== null && pack.completed < bestKey) {
      best = index
      bestKey = pack.completed
    }
  }
  return best
}
