/** So many groups of one size. */
export interface SizeCount {
  readonly size: number
  readonly count: number
}

/** Sizes of which a set must have a least sum. */
export interface NeedyBlock {
  readonly sizes: readonly SizeCount[]
  /** The least sum of the groups taken from here. */
  readonly need: number
}

/** Whether some of the groups sum to exactly `target`. Its cost depends on the sizes and the target, not on the counts. */
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
  const mask = lowBits(wanted + 1)
  const bit = 1n << BigInt(wanted)
  let sums = 1n
  // Large sizes first: they are few, so an early answer is cheap.
  for (const { size, count } of usable.toSorted((a, b) => b.size - a.size)) {
    sums = addCopies(sums, size / divisor, Math.min(count, Math.floor(goal / size)), mask)
    if ((sums & bit) !== 0n) return true
  }
  return false
}

/**
 * Whether some of the groups sum to exactly `target` while each block gives at least what is needed of it.
 * `others` have no need.
 */
export function canSumWithNeeds(blocks: readonly NeedyBlock[], others: readonly SizeCount[], target: number): boolean {
  const needy = blocks.filter((block) => block.need > 0)
  const free = [...others, ...blocks.filter((block) => block.need <= 0).flatMap((block) => block.sizes)]
  if (needy.length === 0) return canSum(merge(free), target)
  let needs = 0
  for (const { need, sizes } of needy) {
    if (sumOf(sizes) < need) return false
    needs += need
  }
  if (needs > target || sumOf(free) + needy.reduce((sum, block) => sum + sumOf(block.sizes), 0) < target) return false
  const everything = [...free, ...needy.flatMap((block) => block.sizes)].filter(
    ({ size, count }) => count > 0 && size <= target,
  )
  const divisor = everything.length === 0 ? 1 : commonDivisor(everything)
  if (target % divisor !== 0) return false
  const wanted = target / divisor
  const mask = lowBits(wanted + 1)
  let sums = 1n
  for (const { sizes, need } of needy) {
    sums = addBlock(sums, sizes, Math.ceil(need / divisor), divisor, wanted, mask)
    if (sums === 0n) return false
  }
  for (const { size, count } of merge(free)) {
    if (count === 0 || size > target) continue
    sums = addCopies(sums, size / divisor, Math.min(count, Math.floor(target / size)), mask)
  }
  return ((sums >> BigInt(wanted)) & 1n) === 1n
}

function addBlock(
  sums: bigint,
  sizes: readonly SizeCount[],
  need: number,
  divisor: number,
  wanted: number,
  mask: bigint,
): bigint {
  const usable = sizes.filter(({ size, count }) => count > 0 && size / divisor <= wanted)
  const [only] = usable
  if (only === undefined) return 0n
  if (usable.length === 1) {
    const size = only.size / divisor
    const least = Math.ceil(need / size)
    const most = Math.min(only.count, Math.floor(wanted / size))
    if (most < least) return 0n
    return addCopies((sums << BigInt(size * least)) & mask, size, most - least, mask)
  }
  let own = 1n
  for (const { size, count } of usable) {
    own = addCopies(own, size / divisor, Math.min(count, Math.floor(wanted / (size / divisor))), mask)
  }
  const enough = (own >> BigInt(need)) << BigInt(need)
  return addSets(sums, enough, mask)
}

/** All sums that `sums` and up to `count` times `size` make. */
function addCopies(sums: bigint, size: number, count: number, mask: bigint): bigint {
  let result = sums
  let left = count
  // Batches of 1, 2, 4 … copies make every number up to the count.
  for (let copies = 1; left > 0; copies *= 2) {
    const step = Math.min(copies, left)
    result |= (result << BigInt(step * size)) & mask
    left -= step
  }
  return result
}

/** All sums of one value from each of two sets. */
function addSets(a: bigint, b: bigint, mask: bigint): bigint {
  const [few, many] = countBits(a) < countBits(b) ? [a, b] : [b, a]
  let result = 0n
  const bits = few.toString(2)
  for (let index = bits.indexOf("1"); index !== -1; index = bits.indexOf("1", index + 1)) {
    result |= (many << BigInt(bits.length - 1 - index)) & mask
  }
  return result
}

function countBits(value: bigint): number {
  let count = 0
  for (const digit of value.toString(16)) count += bitsOfDigit.get(digit) ?? 0
  return count
}

const bitsOfDigit: ReadonlyMap<string, number> = new Map(
  Array.from({ length: 16 }, (_, digit) => [digit.toString(16), digit.toString(2).replaceAll("0", "").length]),
)

function merge(sizes: readonly SizeCount[]): SizeCount[] {
  const counts = new Map<number, number>()
  for (const { size, count } of sizes) counts.set(size, (counts.get(size) ?? 0) + count)
  return Array.from(counts, ([size, count]) => ({ size, count }))
}

function sumOf(sizes: readonly SizeCount[]): number {
  return sizes.reduce((sum, { size, count }) => sum + size * count, 0)
}

function lowBits(count: number): bigint {
  return (1n << BigInt(count)) - 1n
}

function commonDivisor(sizes: readonly SizeCount[]): number {
  let divisor = 0
  for (const { size } of sizes) {
    let [a, b] = [divisor, size]
    while (b !== 0) [a, b] = [b, a % b]
    divisor = a
  }
  return divisor
}
