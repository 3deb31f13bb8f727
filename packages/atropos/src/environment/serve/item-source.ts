import type { Environment } from "../environment.ts"
import { inOwnCode } from "../own-code.ts"

export interface TakenItem<Item> {
  /** Counts the items taken, from 0; an item that is done again keeps its number. */
  readonly number: number
  readonly item: Item
  /** How often it failed by itself: others succeeded meanwhile, or the servers were well. */
  readonly faults: number
  /** Items settled when it was taken. */
  readonly settledBefore: number
}

/**
 * Hands out items: those that wait in the backlog first, then new ones, one request at a time. Whatever was
 * taken stays known until it is settled, so that a checkpoint holds it.
 */
export class ItemSource<Item> {
  readonly #environment: Pick<Environment<Item>, "nextItem">
  readonly #backlog: { item: Item; faults: number; number: number | undefined }[] = []
  readonly #taken = new Map<number, TakenItem<Item>>()
  #next = 0
  #settled = 0
  #exhausted = false
  #asking: Promise<unknown> = Promise.resolve()

  constructor(environment: Pick<Environment<Item>, "nextItem">) {
    this.#environment = environment
  }

  /** Whether `nextItem` had nothing more and the backlog is empty. */
  get exhausted(): boolean {
    return this.#exhausted && this.#backlog.length === 0
  }

  get backlogSize(): number {
    return this.#backlog.length
  }

  /** Items taken so far. */
  get count(): number {
    return this.#next
  }

  /** The next item, or undefined when there is none now; rejects with what `nextItem` threw. */
  async take(): Promise<TakenItem<Item> | undefined> {
    const turn = this.#asking.then(() => this.#take())
    this.#asking = turn.catch(() => {})
    return turn
  }

  async #take(): Promise<TakenItem<Item> | undefined> {
    const waiting = this.#backlog.shift()
    if (waiting !== undefined) {
      return this.#hold({ item: waiting.item, faults: waiting.faults, number: waiting.number ?? this.#next++ })
    }
    if (this.#exhausted) return undefined
    const item = await inOwnCode("nextItem", () => this.#environment.nextItem())
    if (item === undefined) {
      this.#exhausted = true
      return undefined
    }
    return this.#hold({ item, faults: 0, number: this.#next++ })
  }

  #hold(item: Omit<TakenItem<Item>, "settledBefore">): TakenItem<Item> {
    const taken = { ...item, settledBefore: this.#settled }
    this.#taken.set(taken.number, taken)
    return taken
  }

  /** The item is done: sent, or dropped and counted. */
  settle(taken: TakenItem<Item>): void {
    if (this.#taken.delete(taken.number)) this.#settled += 1
  }

  /**
   * The item shall be done again. A failure counts against it when other items were done since it was taken, or
   * when `othersAreWell` says that nothing else is wrong.
   */
  giveBack({ number, item, faults, settledBefore }: TakenItem<Item>, othersAreWell = false): void {
    this.#taken.delete(number)
    const own = othersAreWell || this.#settled > settledBefore ? 1 : 0
    this.#backlog.push({ number, item, faults: faults + own })
  }

  /** Items that came about because of others, or are left of an earlier run. */
  addBacklog(items: readonly Item[]): void {
    for (const item of items) this.#backlog.push({ item, faults: 0, number: undefined })
  }

  /** Items that are taken or wait, for a checkpoint: those in flight first. */
  pending(): Item[] {
    return [...this.#taken.values(), ...this.#backlog].map(({ item }) => item)
  }
}
