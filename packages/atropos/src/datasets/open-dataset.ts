import { existsSync } from "node:fs"
import { readdir, readFile, stat } from "node:fs/promises"
import { join, relative, resolve } from "node:path"

import { AtroposError } from "../runtime/errors.ts"
import type { Logger } from "../runtime/logger.ts"
import { nearest } from "../runtime/nearest.ts"
import { Dataset } from "./dataset.ts"
import { isDataFile, readFileRows } from "./formats/read-file.ts"
import type { Row } from "./formats/row.ts"
import { openHubFiles, type HubDatasetOptions } from "./hub/hub-files.ts"
import { knownSplits, selectFiles } from "./select-files.ts"

export interface DatasetOptions extends HubDatasetOptions {
  /** Configuration of a data set that has several, such as `main`. */
  config?: string
  /** @default "train" */
  split?: string
  /** Columns that every row must have. */
  columns?: readonly string[]
  /** What a row that cannot be read does: end everything with an error, or be left out and told. @default "fail" */
  brokenRows?: "fail" | "skip"
  /** Told of rows that were left out, and of what is downloaded. */
  logger?: Logger
}

/**
 * The rows of a data set: a file (JSONL, JSON, CSV, TSV, Parquet), a folder of such files, or the id of a data set on
 * the Hugging Face hub. What can be checked without reading all rows is checked now: that there is the split, that it
 * has rows, and that its first row has the columns. Rows are read as they are asked for.
 */
export async function openDataset<Wanted extends Row = Row>(
  source: string,
  options: DatasetOptions = {},
): Promise<Dataset<Wanted>> {
  const split = options.split ?? "train"
  const files = await locate(source, split, options)
  const name = `${source} (${split})`
  const rows = new Dataset<Wanted>(name, () => readRows<Wanted>(files, split, options))
  const [first] = await rows.take(1).toArray()
  if (first === undefined) {
    throw new AtroposError("dataset-broken", `${name} has no rows: ${files.join(", ")}`, { facts: { files } })
  }
  return rows
}

/** Paths of the local files that hold the split; downloads them if need be. */
async function locate(source: string, split: string, options: DatasetOptions): Promise<string[]> {
  const path = resolve(source)
  if (existsSync(path)) {
    const { config } = options
    return (await stat(path)).isDirectory() ? filesOfFolder(path, { config, split }) : [path]
  }
  if (isHubId(source)) return openHubFiles(source, { ...options, split })
  throw new AtroposError(
    "dataset-missing",
    `there is no data set ${JSON.stringify(source)}: no file or folder ${path}, and it is no hub id (owner/name)`,
    { facts: { source, path } },
  )
}

function isHubId(source: string): boolean {
  return /^[\w.-]+(?:\/[\w.-]+)?$/.test(source) && !source.startsWith(".") && !isDataFile(source)
}

async function filesOfFolder(
  folder: string,
  selection: { config: string | undefined; split: string },
): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
  const readme = files.includes("README.md") ? await readFile(join(folder, "README.md"), "utf8") : undefined
  const chosen = await selectFiles(files, selection, readme)
  if (chosen.length > 0) return chosen.map((file) => join(folder, file))
  const splits = knownSplits(files)
  throw new AtroposError(
    "dataset-missing",
    splits.length === 0
      ? `${folder} has no data files (.jsonl, .json, .csv, .tsv, .parquet)`
      : `${folder} has no split ${JSON.stringify(selection.split)}; it has ${splits.join(", ")}`,
    { facts: { folder, splits } },
  )
}

async function* readRows<Wanted extends Row>(
  files: readonly string[],
  split: string,
  { columns = [], brokenRows = "fail", logger }: DatasetOptions,
): AsyncGenerator<Wanted> {
  let left = 0
  for (const file of files) {
    for await (const entry of readFileRows(file, split)) {
      const problem = entry instanceof Error ? entry : missingColumns(entry.row, columns, file, entry.place)
      if (problem === undefined) {
        // Columns were checked; their types are what the caller says they are.
        if (!(entry instanceof Error)) yield entry.row as Wanted
        continue
      }
      if (brokenRows === "fail") throw problem
      left += 1
      if (left <= 3) logger?.warn("left out a row that cannot be read", { problem: problem.message })
    }
  }
  if (left > 3) logger?.warn("left out rows that cannot be read", { rows: left })
}

function missingColumns(row: Row, columns: readonly string[], file: string, place: string): AtroposError | undefined {
  const missing = columns.filter((column) => row[column] === undefined)
  if (missing.length === 0) return undefined
  const there = Object.keys(row)
  const [first] = missing
  const near = first === undefined ? undefined : nearest(first, there)
  const hint = near === undefined ? "" : `; did you mean ${near}?`
  const named = missing.map((column) => JSON.stringify(column)).join(" and ")
  return new AtroposError(
    "dataset-columns",
    `${file}, ${place}: no column ${named}; there are ${there.map((column) => JSON.stringify(column)).join(", ")}${hint}`,
    { facts: { file, place, missing, columns: there } },
  )
}
