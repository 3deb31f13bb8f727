import type { GroupList } from "../groups/group-list.ts"
import type { GroupQueue } from "../groups/group-queue.ts"
import { noSlot } from "../groups/group-table.ts"
import { fillExactly, remainingCandidates } from "./exact-rule.ts"
import { type Candidates, oldestOf, Selection } from "./selection.ts"
import { canSum, canSumWithNeeds, type SizeCount } from "./subset-sums.ts"

/** An environment and how many sequences of every batch are to come from it, at least one. */
export interface Minimum {
  readonly environment: number
  readonly sequences: number
}

interface Share {
  readonly environment: number
  readonly minimum: number
  readonly candidates: Candidates[]
  readonly tally: { got: number }
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
  classes: readonly (GroupList & { readonly size: number })[],
  batchSize: number,
): number[] | null {
  const counts = classes.map(({ size, count }) => ({ size, count }))
  if (!canSum(counts, batchSize)) return null
  const shares = minimums.map((minimum) => createShare(minimum, queue))
  const others = subtractCounts(counts, shares)
  const selection = new Selection(batchSize)
  const meetsMinimums = (): boolean =>
    canSumWithNeeds(
      shares.map(({ minimum, tally, candidates }) => ({ need: minimum - tally.got, sizes: countsLeft(candidates) })),
      others,
      selection.rest,
    )
  if (meetsMinimums()) takeShares(selection, shares, meetsMinimums)
  else {
    const isPossible = (): boolean =>
      canSum([...others, ...shares.flatMap((share) => countsLeft(share.candidates))], selection.rest)
    takeShares(
      selection,
      shares.toSorted((a, b) => oldestKey(a) - oldestKey(b)),
      isPossible,
    )
  }
  fillExactly(selection, remaining(selection, queue, classes))
  return selection.slots
}

function takeShares(selection: Selection, shares: readonly Share[], isPossible: () => boolean): void {
  selection.extend(() => {
    if (selection.rest === 0) return null
    for (const { minimum, tally, candidates } of shares) {
      const next = tally.got < minimum ? oldestOf(candidates) : null
      if (next !== null) return next
    }
    return null
  }, isPossible)
}

/** All groups that are not taken, by size. */
function remaining(
  selection: Selection,
  queue: GroupQueue,
  classes: readonly (GroupList & { readonly size: number })[],
): Candidates[] {
  const gone = new Set(selection.slots)
  const goneBySize = new Map<number, number>()
  for (const slot of gone) {
    const size = queue.table.sizeOf(slot)
    goneBySize.set(size, (goneBySize.get(size) ?? 0) + 1)
  }
  return classes.map((entry) => remainingCandidates(entry, queue.sizeLinks, gone, goneBySize.get(entry.size) ?? 0))
}

function createShare({ environment, sequences }: Minimum, queue: GroupQueue): Share {
  const tally = { got: 0 }
  const candidates = availableClasses(queue, environment).map(({ size, head, count }): Candidates => {
    return { size, links: queue.ownLinks, cursor: head, left: count, refused: false, tally }
  })
  return { environment, minimum: sequences, candidates, tally }
}

function availableClasses(queue: GroupQueue, environment: number): (GroupList & { readonly size: number })[] {
  const classes = queue.ownerNamed(environment).classes.values()
  return [...classes].filter(({ size, count }) => count > 0 && size <= queue.limit)
}

function subtractCounts(counts: readonly SizeCount[], shares: readonly Share[]): SizeCount[] {
  const taken = new Map<number, number>()
  for (const { size, left } of shares.flatMap((share) => share.candidates)) {
    taken.set(size, (taken.get(size) ?? 0) + left)
  }
  return counts.map(({ size, count }) => ({ size, count: count - (taken.get(size) ?? 0) }))
}

function countsLeft(candidates: readonly Candidates[]): SizeCount[] {
  return candidates.map(({ size, left }) => ({ size, count: left }))
}

function oldestKey({ candidates }: Share): number {
  return candidates.reduce((key, { cursor, links }) => {
    return cursor === noSlot ? key : Math.min(key, links.keys[cursor] ?? Infinity)
  }, Infinity)
}
