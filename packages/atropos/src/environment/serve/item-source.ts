import type { Environment } from "../environment.ts"

export interface TakenItem<Item> {
  /** Counts the items taken, from 0. */
  number: number
  item: Item
  /** How often it was tried before. */
  attempts: number
}

/**
 * Hands out items: those that wait in the backlog first, then new ones, one request at a time. Whatever was
 * taken stays known until it is settled, so that a checkpoint holds it.
 */
export class ItemSource<Item> {
  readonly #environment: Pick<Environment<Item>, "nextItem">
  readonly #backlog: { item: Item; attempts: number; number?: number }[] = []
  readonly #taken = new Map<number, TakenItem<Item>>()
  #next = 0
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

  async take(): Promise<TakenItem<Item> | undefined> {
    const turn = this.#asking.then(() => this.#take())
    this.#asking = turn.catch(() => {})
    return turn
  }

  async #take(): Promise<TakenItem<Item> | undefined> {
    const waiting = this.#backlog.shift()
    let taken: TakenItem<Item>
    if (waiting !== undefined) {
      taken = { number: waiting.number ?? this.#next++, item: waiting.item, attempts: waiting.attempts }
    } else {
      if (this.#exhausted) return undefined
      const item = await this.#environment.nextItem()
      if (item === undefined) {
        this.#exhausted = true
        return undefined
      }
      taken = { number: this.#next++, item, attempts: 0 }
    }
    this.#taken.set(taken.number, taken)
    return taken
  }

  /** The item is done: sent, or dropped and counted. */
  settle(taken: TakenItem<Item>): void {
    this.#taken.delete(taken.number)
  }

  /** The item shall be done again, before new ones. */
  giveBack({ number, item, attempts }: TakenItem<Item>, options: { countAttempt: boolean }): void {
    this.#taken.delete(number)
    this.#backlog.unshift({ number, item, attempts: attempts + (options.countAttempt ? 1 : 0) })
  }

  /** Items that came about because of others. */
  addBacklog(items: readonly Item[]): void {
    for (const item of items) this.#backlog.push({ item, attempts: 0 })
  }

  /** Items that are taken or wait, for a checkpoint: those in flight first. */
  pending(): Item[] {
    return [...this.#taken.values(), ...this.#backlog].map(({ item }) => item)
  }
}
