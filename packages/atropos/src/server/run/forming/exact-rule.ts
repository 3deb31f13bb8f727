import type { GroupList, Links } from "../groups/group-list.ts"
import { type Candidates, firstOf, oldestOf, Selection } from "./selection.ts"
import { canSum } from "./subset-sums.ts"

/**
 * The exact rule: walk from the oldest and take a group when some exact batch holds all groups taken so far and this
 * one. Null when no set of the groups sums to `target`. The answer is in queue order.
 */
export function chooseExact(
  classes: readonly (GroupList & { readonly size: number })[],
  links: Links,
  target: number,
): number[] | null {
  const all = classes.map(({ size, head, count }): Candidates => {
    return { size, links, cursor: head, left: count, refused: false }
  })
  const selection = new Selection(target)
  return fillExactly(selection, all) ? selection.slots : null
}

/** The groups of a size class as candidates, without those that were taken before. */
export function remainingCandidates(
  { size, head, count }: GroupList & { readonly size: number },
  links: Links,
  gone: ReadonlySet<number>,
  goneOfSize: number,
): Candidates {
  return { size, links, cursor: firstOf(head, links, gone), left: count - goneOfSize, refused: false, gone }
}

/** Fills a selection up to its target by the exact rule. */
export function fillExactly(selection: Selection, all: readonly Candidates[]): boolean {
  const isPossible = (): boolean => canSum(countsOf(all), selection.rest)
  if (!isPossible()) return false
  selection.extend(() => (selection.rest === 0 ? null : oldestOf(all)), isPossible)
  return true
}

function countsOf(all: readonly Candidates[]): { size: number; count: number }[] {
  // What was refused is in no exact batch with what is taken: leaving it out changes nothing and is quicker.
  return all.filter(({ refused }) => !refused).map(({ size, left }) => ({ size, count: left }))
}
