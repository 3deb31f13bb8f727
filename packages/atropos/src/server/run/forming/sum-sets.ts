/** A set of sums as bits of an integer: bit n is set when n can be reached. */
export type SumSet = bigint

export const onlyZero: SumSet = 1n

/** The bits of all sums up to `largest`. */
export function maskUpTo(largest: number): bigint {
  return (1n << BigInt(largest + 1)) - 1n
}

export function holds(sums: SumSet, sum: number): boolean {
  return ((sums >> BigInt(sum)) & 1n) === 1n
}

/** All sums that one of `sums` and up to `count` times `size` make. */
export function addCopies(sums: SumSet, size: number, count: number, mask: bigint): SumSet {
  let result = sums
  let left = count
  // 1, 2, 4 … copies at once make every number up to the count.
  for (let copies = 1; left > 0; copies *= 2) {
    const step = Math.min(copies, left)
    result |= (result << BigInt(step * size)) & mask
    left -= step
  }
  return result
}

/** The sums that are at least `least`. */
export function atLeast(sums: SumSet, least: number): SumSet {
  return least <= 0 ? sums : (sums >> BigInt(least)) << BigInt(least)
}

/** All sums of one from each of two sets. Sets of sums are mostly long runs of bits, and a run costs as little as a bit. */
export function addSets(a: SumSet, b: SumSet, mask: bigint): SumSet {
  const [runsOfA, runsOfB] = [runsOf(a), runsOf(b)]
  const [runs, others] = runsOfA.length <= runsOfB.length ? [runsOfA, b] : [runsOfB, a]
  let result = 0n
  for (const { from, length } of runs) {
    result |= addCopies((others << BigInt(from)) & mask, 1, length - 1, mask)
    // Everything from the smallest sum on is reached: more runs add nothing.
    if (result === mask) break
  }
  return result
}

/** Whether one of each of two sets add up to `sum`. */
export function addUpTo(a: SumSet, b: SumSet, sum: number): boolean {
  return runsOf(b).some(({ from, length }) => {
    const lowest = Math.max(0, sum - (from + length - 1))
    const count = sum - from - lowest + 1
    return count > 0 && ((a >> BigInt(lowest)) & maskUpTo(count - 1)) !== 0n
  })
}

function runsOf(sums: SumSet): { from: number; length: number }[] {
  const bits = sums.toString(2)
  const runs: { from: number; length: number }[] = []
  for (let start = bits.indexOf("1"); start !== -1;) {
    const zero = bits.indexOf("0", start)
    const end = zero === -1 ? bits.length : zero
    runs.push({ from: bits.length - end, length: end - start })
    start = bits.indexOf("1", end)
  }
  return runs
}
