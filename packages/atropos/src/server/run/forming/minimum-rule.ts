import type { GroupList } from "../groups/group-list.ts"
import type { GroupQueue } from "../groups/group-queue.ts"
import { CandidateSet } from "./candidates.ts"
import { fillExactly } from "./exact-rule.ts"
import { MinimumLookahead, missingOf, type Share } from "./minimum-lookahead.ts"
import { Selection } from "./selection.ts"
import { canSum, mergeCounts, type SizeCount } from "./subset-sums.ts"

type SizeList = GroupList & { readonly size: number }

/** An environment and how many sequences of every batch are to come from it, at least one. */
export interface Minimum {
  readonly environment: number
  readonly sequences: number
}

/**
 * The minimums as they apply: when they add up to more than a batch, each becomes its share of the batch, but at
 * least the environment's smallest queued group.
 */
export function scaleMinimums(minimums: readonly Minimum[], queue: GroupQueue, batchSize: number): readonly Minimum[] {
  const total = minimums.reduce((sum, { sequences }) => sum + sequences, 0)
  if (total <= batchSize) return minimums
  return minimums.map(({ environment, sequences }) => {
    const smallest = Math.min(...availableClasses(queue, environment).map(({ size }) => size))
    // BigInt: the product of two whole numbers may go beyond what a double holds.
    const share = Number((BigInt(sequences) * BigInt(batchSize)) / BigInt(total))
    return { environment, sequences: Math.max(Number.isFinite(smallest) ? smallest : 1, share) }
  })
}

/** The first environment that has queued less than its minimum. No batch is formed without it. */
export function findBlocking(minimums: readonly Minimum[], queue: GroupQueue): Minimum | undefined {
  return minimums.find(({ environment, sequences }) => queue.ownerNamed(environment).available < sequences)
}

/**
 * The batch when environments have minimums (scaled, none of them blocking): of each in turn its oldest groups up to
 * its minimum, then the oldest of all, each only when an exact batch that meets the minimums can still hold it. When
 * the sizes do not allow all minimums, any exact batch counts and whoever has waited longest comes first. Null when
 * no set of the groups sums to the batch size.
 */
export function chooseWithMinimums(
  minimums: readonly Minimum[],
  queue: GroupQueue,
  classes: readonly SizeList[],
  batchSize: number,
): number[] | null {
  const counts = classes.map(({ size, count }) => ({ size, count }))
  if (!canSum(counts, batchSize)) return null
  const shares = minimums.map(({ environment, sequences }): Share => {
    const candidates = new CandidateSet(availableClasses(queue, environment), queue.ownLinks)
    return { minimum: sequences, candidates, queued: queue.ownerNamed(environment).available }
  })
  const selection = new Selection(batchSize)
  const lookahead = new MinimumLookahead(shares, counts, batchSize)
  if (lookahead.isPossible(batchSize)) takeShares(selection, shares, () => lookahead.isPossible(selection.rest))
  else {
    const others = subtractCounts(counts, shares)
    const all = (): SizeCount[] => mergeCounts([others, ...shares.map(({ candidates }) => candidates.counts())])
    takeShares(selection, shares.toSorted(byOldestGroup), () => canSum(all(), selection.rest))
  }
  fillExactly(selection, remainingOf(selection, queue, classes))
  return selection.slots
}

/** Takes from each share in turn until its minimum is met. */
function takeShares(selection: Selection, shares: readonly Share[], isPossible: () => boolean): void {
  let current = 0
  let taken = 0
  selection.extend(() => {
    // Takings were given back: whose turn it was then is found again from the start.
    if (selection.count < taken) current = 0
    taken = selection.count
    for (; current < shares.length; current++) {
      const share = shares[current]
      const next = share === undefined || missingOf(share) <= 0 ? null : share.candidates.oldest(selection.rest)
      if (next !== null) return next
    }
    return null
  }, isPossible)
}

/** All groups that are not taken, by size. */
function remainingOf(selection: Selection, queue: GroupQueue, classes: readonly SizeList[]): CandidateSet {
  const gone = new Set(selection.slots)
  const goneOfSize = new Map<number, number>()
  for (const slot of gone) {
    const size = queue.table.sizeOf(slot)
    goneOfSize.set(size, (goneOfSize.get(size) ?? 0) + 1)
  }
  return new CandidateSet(classes, queue.sizeLinks, gone, goneOfSize)
}

function availableClasses(queue: GroupQueue, environment: number): SizeList[] {
  const classes = queue.ownerNamed(environment).classes.values()
  return [...classes].filter(({ size, count }) => count > 0 && size <= queue.limit).toSorted((a, b) => a.size - b.size)
}

/** What is not theirs. */
function subtractCounts(counts: readonly SizeCount[], shares: readonly Share[]): SizeCount[] {
  const theirs = new Map<number, number>()
  for (const { size, left } of shares.flatMap(({ candidates }) => candidates.all)) {
    theirs.set(size, (theirs.get(size) ?? 0) + left)
  }
  return counts.map(({ size, count }) => ({ size, count: count - (theirs.get(size) ?? 0) }))
}

function byOldestGroup(a: Share, b: Share): number {
  return a.candidates.oldestKey - b.candidates.oldestKey
}
