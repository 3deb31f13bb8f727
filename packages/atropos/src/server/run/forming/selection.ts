import type { Candidates } from "./candidates.ts"

/** What has been taken for a batch, and how much is missing. */
export class Selection {
  readonly #taken: { from: Candidates; slot: number }[] = []
  rest: number

  constructor(target: number) {
    this.rest = target
  }

  get count(): number {
    return this.#taken.length
  }

  get slots(): number[] {
    return this.#taken.map(({ slot }) => slot)
  }

  /**
   * Takes what `pick` names, one after the other, as long as `isPossible` says that an exact batch holds all that is
   * taken; candidates that would make it impossible are refused for good. `pick` names nothing that is larger than
   * the rest, and depends on nothing but what is taken and refused; `isPossible` must hold at the start.
   *
   * It is asked of everything at once first. After a failure, whose place is found by halving, it is asked of short
   * runs that grow, since one refusal is often near the next.
   */
  extend(pick: () => Candidates | null, isPossible: () => boolean): void {
    for (let run = Infinity; ;) {
      const start = this.#taken.length
      let next = pick()
      for (; next !== null && this.#taken.length - start < run; next = pick()) this.#take(next)
      if (this.#taken.length === start) return
      if (isPossible()) {
        if (next === null) return
        run *= 2
      } else {
        this.#backToPossible(start, isPossible)
        run = Math.max(1, this.#taken.length - start)
      }
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
    refused?.set.refuse(refused)
  }

  #goTo(length: number, tried: readonly Candidates[], start: number): void {
    while (this.#taken.length > length) {
      const last = this.#taken.pop()
      if (last === undefined) return
      last.from.set.goBack(last.from, last.slot)
      this.rest += last.from.size
    }
    while (this.#taken.length < length) {
      const next = tried[this.#taken.length - start]
      if (next === undefined) return
      this.#take(next)
    }
  }

  #take(from: Candidates): void {
    this.#taken.push({ from, slot: from.set.advance(from) })
    this.rest -= from.size
  }
}
