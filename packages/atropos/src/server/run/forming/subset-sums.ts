import { addCopies, holds, maskUpTo, onlyZero } from "./sum-sets.ts"

/** So many groups of one size. */
export interface SizeCount {
  readonly size: number
  readonly count: number
}

/**
 * Whether some of the groups sum to exactly `target`. Sizes come in ascending order. The cost depends on the sizes
 * and the target, not on the counts.
 */
export function canSum(sizes: readonly SizeCount[], target: number): boolean {
  if (target === 0) return true
  let total = 0
  for (const { size, count } of sizes) total += size * count
  if (total < target) return false
  // What is left behind sums to the rest, so the smaller of the two is looked for.
  const goal = Math.min(target, total - target)
  if (goal === 0) return true
  const usable = sizes.filter(({ size, count }) => count > 0 && size <= goal)
  const [only] = usable
  if (only === undefined) return false
  if (usable.length === 1) return goal % only.size === 0 && goal / only.size <= only.count
  const divisor = commonDivisor(usable)
  if (goal % divisor !== 0) return false
  const wanted = goal / divisor
  const mask = maskUpTo(wanted)
  let sums = onlyZero
  // Large sizes first: they are few, so an early answer is cheap.
  for (let index = usable.length - 1; index >= 0; index--) {
    const { size, count } = usable[index] ?? only
    sums = addCopies(sums, size / divisor, Math.min(count, Math.floor(goal / size)), mask)
    if (holds(sums, wanted)) return true
  }
  return false
}

/** The largest number that divides all sizes; 1 when there are none. */
export function commonDivisor(sizes: readonly SizeCount[]): number {
  let divisor = sizes[0]?.size ?? 1
  for (const { size } of sizes) {
    if (divisor === 1) break
    let rest = size
    while (rest !== 0) [divisor, rest] = [rest, divisor % rest]
  }
  return divisor
}

/** The groups of several lists together, by ascending size. */
export function mergeCounts(lists: readonly (readonly SizeCount[])[]): SizeCount[] {
  const counts = new Map<number, number>()
  for (const { size, count } of lists.flat()) counts.set(size, (counts.get(size) ?? 0) + count)
  return Array.from(counts, ([size, count]) => ({ size, count })).toSorted((a, b) => a.size - b.size)
}
