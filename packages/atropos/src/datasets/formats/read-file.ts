import { isAtroposError } from "../../runtime/errors.ts"
import { readJson } from "./json.ts"
import { readJsonLines } from "./jsonl.ts"
import { brokenData, type PlacedRow } from "./row.ts"

type Reader = (file: string, field?: string) => AsyncGenerator<PlacedRow | Error>

/** Those that stand on packages of others are loaded for the first file of their kind. */
const readers: readonly [RegExp, () => Reader | Promise<Reader>][] = [
  [/\.(?:jsonl|ndjson)(?:\.gz)?$/i, () => readJsonLines],
  [/\.json(?:\.gz)?$/i, () => readJson],
  [/\.[ct]sv(?:\.gz)?$/i, async () => (await import("./csv.ts")).readCsv],
  [/\.parquet$/i, async () => (await import("./parquet.ts")).readParquet],
]

/** Whether a file's name says that it holds rows in a format we read. */
export function isDataFile(file: string): boolean {
  return readers.some(([pattern]) => pattern.test(file))
}

/** Rows of a file in the format its name tells; a row that cannot be read comes as the error that says why. */
export async function* readFileRows(file: string, field?: string): AsyncGenerator<PlacedRow | Error> {
  const load = readers.find(([pattern]) => pattern.test(file))?.[1]
  if (load === undefined) {
    throw brokenData(file, undefined, "not a data file; known are .jsonl, .json, .csv, .tsv (also .gz) and .parquet")
  }
  try {
    const reader = await load()
    yield* reader(file, field)
  } catch (error) {
    if (isAtroposError(error)) throw error
    throw brokenData(file, undefined, error instanceof Error ? error.message : "not readable", error)
  }
}
