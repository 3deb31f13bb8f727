import type { Links } from "../groups/group-list.ts"
import { noSlot } from "../groups/group-table.ts"

/** Groups of one size, oldest first, and how far a selection has come in them. */
export interface Candidates {
  readonly size: number
  readonly links: Links
  /** The oldest that was not taken. */
  cursor: number
  /** How many were not taken. */
  left: number
  /** No exact batch can hold another of these. */
  refused: boolean
  /** What was taken counts for this, if somebody counts. */
  readonly tally?: { got: number }
  /** Groups of the list that were taken through another one. */
  readonly gone?: ReadonlySet<number>
}

/** What has been taken for a batch, and how much is missing. */
export class Selection {
  readonly #taken: { from: Candidates; slot: number }[] = []
  rest: number

  constructor(target: number) {
    this.rest = target
  }

  get slots(): number[] {
    return this.#taken.map(({ slot }) => slot)
  }

  /** Takes the oldest of the candidates. */
  take(from: Candidates): void {
    const slot = from.cursor
    this.#taken.push({ from, slot })
    from.cursor = nextOf(from, slot)
    from.left -= 1
    this.rest -= from.size
    if (from.tally !== undefined) from.tally.got += from.size
  }

  /**
   * Takes what `pick` names, one after the other, as long as `isPossible` says that an exact batch holds all that is
   * taken; candidates that would make it impossible are refused for good. `isPossible` must hold at the start. It is
   * asked of long runs first, and the place of a failure is found by halving.
   */
  extend(pick: () => Candidates | null, isPossible: () => boolean): void {
    for (;;) {
      const start = this.#taken.length
      let tooLarge: Candidates | null = null
      for (let next = pick(); next !== null; next = pick()) {
        if (next.size > this.rest) {
          tooLarge = next
          break
        }
        this.take(next)
      }
      if (this.#taken.length === start || isPossible()) {
        if (tooLarge === null) return
        tooLarge.refused = true
      } else this.#backToPossible(start, isPossible)
    }
  }

  /** Gives back the fewest of the last takings so that a batch is possible, and refuses the first one given back. */
  #backToPossible(start: number, isPossible: () => boolean): void {
    const tried = this.#taken.slice(start).map(({ from }) => from)
    let possible = 0
    let impossible = tried.length
    while (impossible - possible > 1) {
      const middle = (possible + impossible) >> 1
      this.#goTo(start + middle, tried, start)
      if (isPossible()) possible = middle
      else impossible = middle
    }
    this.#goTo(start + possible, tried, start)
    const refused = tried[possible]
    if (refused !== undefined) refused.refused = true
  }

  #goTo(length: number, tried: readonly Candidates[], start: number): void {
    while (this.#taken.length > length) {
      const last = this.#taken.pop()
      if (last === undefined) return
      last.from.cursor = last.slot
      last.from.left += 1
      this.rest += last.from.size
      if (last.from.tally !== undefined) last.from.tally.got -= last.from.size
    }
    while (this.#taken.length < length) {
      const next = tried[this.#taken.length - start]
      if (next === undefined) return
      this.take(next)
    }
  }
}

/** The candidates whose oldest group is the oldest of all. */
export function oldestOf(all: readonly Candidates[]): Candidates | null {
  let best: Candidates | null = null
  let bestKey = Infinity
  for (const candidates of all) {
    if (candidates.refused || candidates.left === 0) continue
    const key = candidates.links.keys[candidates.cursor] ?? Infinity
    if (key < bestKey) {
      best = candidates
      bestKey = key
    }
  }
  return best
}

/** The first group of a list that is not gone. */
export function firstOf(head: number, links: Links, gone: ReadonlySet<number> | undefined): number {
  let slot = head
  while (slot !== noSlot && gone?.has(slot) === true) slot = links.next[slot] ?? noSlot
  return slot
}

function nextOf(candidates: Candidates, slot: number): number {
  return firstOf(candidates.links.next[slot] ?? noSlot, candidates.links, candidates.gone)
}
