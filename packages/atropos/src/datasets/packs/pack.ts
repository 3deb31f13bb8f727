import { createRandom, type Random } from "../../environment/random.ts"
import { Dataset } from "../dataset.ts"
import type { Row } from "../formats/row.ts"

/** Rows of our own for environments that run without a network: the columns of the public data set, small tasks. */
export interface TaskPack {
  name: string
  description: string
  /** Columns of every row. */
  columns: readonly string[]
  /** One row; `index` counts from 0 in each split. */
  generate(random: Random, index: number): Row
}

/** Rows of a split of a pack, by default. */
export const packSize = 400

/**
 * Rows of a pack, the same on every machine. No row of one split is in another; which one a row belongs to is told by
 * its content.
 */
export function packRows(pack: TaskPack, split: string, size: number = packSize): Dataset {
  return new Dataset(`built-in ${pack.name} (${split})`, async function* () {
    const random = createRandom(`${pack.name}/${split}`)
    const seen = new Set<string>()
    // Small tasks come up again: those count once, and a pack that has run out of new ones ends.
    for (let attempt = 0; seen.size < size && attempt < size * 50; attempt++) {
      const row = pack.generate(random.fork(attempt), seen.size)
      const content = JSON.stringify(Object.entries(row).filter(([column]) => !identityColumns.has(column)))
      if (seen.has(content) || belongsToTest(content) !== isTestSplit(split)) continue
      seen.add(content)
      yield row
    }
  })
}

const identityColumns = new Set(["id", "unique_id"])

function isTestSplit(split: string): boolean {
  return split !== "train"
}

/** One row in five is for tests. */
function belongsToTest(content: string): boolean {
  return createRandom(content).integer(0, 4) === 0
}
