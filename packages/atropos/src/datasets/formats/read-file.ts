import { isAtroposError } from "../../runtime/errors.ts"
import { readCsv } from "./csv.ts"
import { readJson } from "./json.ts"
import { readJsonLines } from "./jsonl.ts"
import { readParquet } from "./parquet.ts"
import { brokenData, type PlacedRow } from "./row.ts"

const readers: readonly [RegExp, (file: string, field?: string) => AsyncGenerator<PlacedRow | Error>][] = [
  [/\.(?:jsonl|ndjson)(?:\.gz)?$/i, readJsonLines],
  [/\.json(?:\.gz)?$/i, readJson],
  [/\.[ct]sv(?:\.gz)?$/i, readCsv],
  [/\.parquet$/i, readParquet],
]

/** Whether a file's name says that it holds rows in a format we read. */
export function isDataFile(file: string): boolean {
  return readers.some(([pattern]) => pattern.test(file))
}

/** Rows of a file in the format its name tells; a row that cannot be read comes as the error that says why. */
export async function* readFileRows(file: string, field?: string): AsyncGenerator<PlacedRow | Error> {
  const reader = readers.find(([pattern]) => pattern.test(file))?.[1]
  if (reader === undefined) {
    throw brokenData(file, undefined, "not a data file; known are .jsonl, .json, .csv, .tsv (also .gz) and .parquet")
  }
  try {
    yield* reader(file, field)
  } catch (error) {
    if (isAtroposError(error)) throw error
    throw brokenData(file, undefined, error instanceof Error ? error.message : "not readable", error)
  }
}
