import { createRandom } from "../environment/random.ts"
import { AtroposError } from "../runtime/errors.ts"

/** Rows that are read when they are asked for; every method gives a new data set and leaves this one as it is. */
export class Dataset<Row = Readonly<Record<string, unknown>>> implements AsyncIterable<Row> {
  /** What it is, for messages. */
  readonly name: string
  readonly #open: () => AsyncIterable<Row>

  constructor(name: string, open: () => AsyncIterable<Row>) {
    this.name = name
    this.#open = open
  }

  /** A data set of rows in memory. */
  static of<Row>(rows: Iterable<Row>, name = "rows"): Dataset<Row> {
    return new Dataset(name, async function* () {
      yield* rows
    })
  }

  [Symbol.asyncIterator](): AsyncIterator<Row> {
    return this.#open()[Symbol.asyncIterator]()
  }

  /** All rows in memory. */
  async toArray(): Promise<Row[]> {
    const rows: Row[] = []
    for await (const row of this) rows.push(row)
    return rows
  }

  /** The first `count` rows; no more than these are read. */
  take(count: number): Dataset<Row> {
    return this.#derive(`${this.name}, first ${count}`, async function* (rows) {
      if (count <= 0) return
      let taken = 0
      for await (const row of rows) {
        yield row
        if (++taken >= count) return
      }
    })
  }

  /** All but the first `count` rows. */
  skip(count: number): Dataset<Row> {
    return this.#derive(`${this.name}, without first ${count}`, async function* (rows) {
      let seen = 0
      for await (const row of rows) if (++seen > count) yield row
    })
  }

  filter(keep: (row: Row) => boolean | Promise<boolean>): Dataset<Row> {
    return this.#derive(this.name, async function* (rows) {
      for await (const row of rows) if (await keep(row)) yield row
    })
  }

  map<To>(change: (row: Row) => To | Promise<To>): Dataset<To> {
    const open = this.#open
    return new Dataset(this.name, async function* () {
      for await (const row of open()) yield await change(row)
    })
  }

  /**
   * Rows in an order that the seed fixes. All are held in memory, unless `buffer` gives how many may be: then a row
   * moves about that far only.
   */
  shuffle(seed: number | string, options: { buffer?: number } = {}): Dataset<Row> {
    const { buffer } = options
    const name = `${this.name}, shuffled by ${seed}`
    if (buffer !== undefined) {
      return this.#derive(name, async function* (rows) {
        const random = createRandom(seed)
        const held: Row[] = []
        for await (const row of rows) {
          if (held.length < buffer) held.push(row)
          else {
            const place = random.integer(0, buffer - 1)
            yield held[place] as Row
            held[place] = row
          }
        }
        yield* random.shuffle(held)
      })
    }
    return this.#derive(name, async function* (rows) {
      const all: Row[] = []
      for await (const row of rows) all.push(row)
      yield* createRandom(seed).shuffle(all)
    })
  }

  /**
   * Holds part of the rows out: a share of them, or a number. Which ones is fixed by the seed. Both parts are read from
   * one pass, which is made when the first row of either is asked for.
   */
  split(
    heldOut: { share: number } | { count: number },
    seed: number | string,
  ): { train: Dataset<Row>; test: Dataset<Row> } {
    let parts: Promise<{ train: Row[]; test: Row[] }> | undefined
    const load = async (): Promise<{ train: Row[]; test: Row[] }> => {
      const rows = await this.toArray()
      const count = "count" in heldOut ? heldOut.count : Math.ceil(rows.length * heldOut.share)
      if (count >= rows.length) {
        throw new AtroposError(
          "bad-option",
          `${this.name}: ${count} rows to hold out of ${rows.length} leave none to train on; hold out fewer`,
        )
      }
      const shuffled = createRandom(seed).shuffle(rows)
      return { train: shuffled.slice(count), test: shuffled.slice(0, count) }
    }
    const part = (which: "train" | "test"): Dataset<Row> =>
      new Dataset(`${this.name}, ${which} part`, async function* () {
        parts ??= load()
        yield* (await parts)[which]
      })
    return { train: part("train"), test: part("test") }
  }

  #derive(name: string, change: (rows: AsyncIterable<Row>) => AsyncGenerator<Row>): Dataset<Row> {
    const open = this.#open
    return new Dataset(name, () => change(open()))
  }
}
