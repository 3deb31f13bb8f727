import type { CandidateSet } from "./candidates.ts"
import { commonDivisor, type SizeCount } from "./subset-sums.ts"
import { addCopies, addSets, addUpTo, atLeast, maskUpTo, onlyZero, type SumSet } from "./sum-sets.ts"

/** What an environment is to give to a batch, and what it has given. */
export interface Share {
  readonly minimum: number
  readonly candidates: CandidateSet
  /** Sequences it has queued. */
  readonly queued: number
}

/** How many sequences a share has still to give to meet its minimum. */
export function missingOf({ minimum, queued, candidates }: Share): number {
  let left = 0
  for (const { size, left: count } of candidates.all) left += size * count
  return minimum - (queued - left)
}

/**
 * Looks whether an exact batch that meets all minimums is still possible, while the shares are taken one after the
 * other. What the shares behind the current one can give does not change meanwhile and is summed up once.
 */
export class MinimumLookahead {
  readonly #shares: readonly Share[]
  /** All groups that can be taken, by ascending size. */
  readonly #all: readonly SizeCount[]
  readonly #places: ReadonlyMap<number, number>
  readonly #divisor: number
  readonly #batchSize: number
  readonly #mask: bigint
  /** At i the sums that shares from i on can give, each at least its minimum. */
  readonly #behind: readonly SumSet[]

  constructor(shares: readonly Share[], all: readonly SizeCount[], batchSize: number) {
    this.#shares = shares
    this.#all = all
    this.#places = new Map(all.map(({ size }, place) => [size, place]))
    this.#divisor = commonDivisor(all)
    this.#batchSize = batchSize
    this.#mask = maskUpTo(Math.floor(batchSize / this.#divisor))
    const behind: SumSet[] = [onlyZero]
    for (const share of shares.toReversed()) {
      behind.push(this.#add(behind.at(-1) ?? onlyZero, share.candidates.counts(), share.minimum))
    }
    this.#behind = behind.toReversed()
  }

  /** Whether what is missing can be found so that every minimum is met. */
  isPossible(rest: number): boolean {
    if (rest % this.#divisor !== 0) return false
    const wanted = rest / this.#divisor
    const current = this.#shares.findIndex((share) => missingOf(share) > 0)
    if (current === -1) return addUpTo(this.#freeSums(this.#shares.length), onlyZero, wanted)
    const later = this.#shares.slice(current + 1)
    // Whoever comes behind has its turn only when this one has nothing more to give.
    if (later.some((share) => missingOf(share) < share.minimum)) return false
    const share = this.#shares[current]
    const own = share === undefined ? onlyZero : this.#add(onlyZero, share.candidates.counts(), missingOf(share))
    const needed = addSets(own, this.#behind[current + 1] ?? onlyZero, this.#mask)
    return addUpTo(this.#freeSums(current), needed, wanted)
  }

  /** All sums of what nobody needs: groups of no share, and what is left of the first `met` shares. */
  #freeSums(met: number): SumSet {
    const counts = this.#all.map(({ count }) => count)
    for (const [index, { candidates }] of this.#shares.entries()) {
      for (const { size, left, taken } of candidates.all) {
        const place = this.#places.get(size) ?? 0
        counts[place] = (counts[place] ?? 0) - (index < met ? taken : left + taken)
      }
    }
    let sums = onlyZero
    for (const [place, { size }] of this.#all.entries()) {
      sums = addCopies(sums, size / this.#divisor, this.#mostOf(size, counts[place] ?? 0), this.#mask)
    }
    return sums
  }

  /** All sums of one from `sums` and a choice of the groups that gives at least `need`. */
  #add(sums: SumSet, sizes: readonly SizeCount[], need: number): SumSet {
    const mask = this.#mask
    const usable = sizes.filter(({ count }) => count > 0)
    const [only] = usable
    if (only === undefined) return need > 0 ? 0n : sums
    if (usable.length === 1) {
      const size = only.size / this.#divisor
      const least = Math.max(0, Math.ceil(need / only.size))
      const more = this.#mostOf(only.size, only.count) - least
      return more < 0 ? 0n : addCopies((sums << BigInt(size * least)) & mask, size, more, mask)
    }
    let own = onlyZero
    for (const { size, count } of usable) own = addCopies(own, size / this.#divisor, this.#mostOf(size, count), mask)
    return addSets(sums, atLeast(own, Math.ceil(need / this.#divisor)), mask)
  }

  /** More of them than fit in a batch make no difference. */
  #mostOf(size: number, count: number): number {
    return Math.min(count, Math.floor(this.#batchSize / size))
  }
}
