import type { GroupList, Links } from "../groups/group-list.ts"
import { CandidateSet } from "./candidates.ts"
import { Selection } from "./selection.ts"
import { canSum } from "./subset-sums.ts"

/**
 * The exact rule: walk from the oldest and take a group when some exact batch holds all groups taken so far and this
 * one. Null when no set of the groups sums to `target`. Classes come by ascending size; the answer is in queue order.
 */
export function chooseExact(
  classes: readonly (GroupList & { readonly size: number })[],
  links: Links,
  target: number,
): number[] | null {
  const selection = new Selection(target)
  return fillExactly(selection, new CandidateSet(classes, links)) ? selection.slots : null
}

/** Fills a selection up to its target by the exact rule. */
export function fillExactly(selection: Selection, candidates: CandidateSet): boolean {
  const isPossible = (): boolean => canSum(candidates.counts(), selection.rest)
  if (!isPossible()) return false
  selection.extend(() => candidates.oldest(selection.rest), isPossible)
  return true
}
