import type { Random } from "./random.ts"

export type Rows<Row> = Iterable<Row> | AsyncIterable<Row>

/**
 * Walks through rows by a counter. An array is shuffled once and walked through over and over; anything else is
 * taken as it comes until it ends.
 */
export class RowWalk<Row> {
  readonly #rows: readonly Row[] | undefined
  readonly #iterator: Iterator<Row> | AsyncIterator<Row> | undefined
  readonly #epochs: number
  #count = 0

  constructor(rows: Rows<Row>, options: { random: Random; shuffle: boolean; epochs: number }) {
    this.#epochs = options.epochs
    if (Array.isArray(rows)) this.#rows = options.shuffle ? options.random.shuffle(rows) : rows
    else this.#iterator = Symbol.asyncIterator in rows ? rows[Symbol.asyncIterator]() : rows[Symbol.iterator]()
  }

  /** Rows taken so far. */
  get count(): number {
    return this.#count
  }

  async next(): Promise<Row | undefined> {
    if (this.#rows !== undefined) {
      const { length } = this.#rows
      if (length === 0 || this.#count >= length * this.#epochs) return undefined
      return this.#rows[this.#count++ % length]
    }
    const step = await this.#iterator?.next()
    if (step === undefined || step.done === true) return undefined
    this.#count += 1
    return step.value
  }

  /** Goes on after the first `count` rows. */
  async skipTo(count: number): Promise<void> {
    if (this.#rows !== undefined) this.#count = count
    else while (this.#count < count && (await this.next()) !== undefined);
  }
}
