import { z } from "zod"

import { AtroposError, isAtroposError } from "../runtime/errors.ts"
import type { Logger } from "../runtime/logger.ts"
import type { Dataset } from "./dataset.ts"
import type { Row } from "./formats/row.ts"
import { openDataset } from "./open-dataset.ts"
import { packRows } from "./packs/pack.ts"
import { findPack } from "./packs/packs.ts"

/** The value of `dataset_name` that means an environment's built-in pack. */
export const builtIn = "builtin"

/**
 * Configuration of an environment whose items come from a data set: its `config`, or spread into its own fields. Its
 * `defaults` give the name.
 */
export const datasetFields = z.object({
  datasetName: z
    .string()
    .default(builtIn)
    .describe(`where rows come from: a hub id, a file or folder, or ${builtIn} for small tasks of our own`),
  datasetConfig: z.string().nullable().default(null).describe("configuration of a data set that has several"),
  datasetRevision: z.string().nullable().default(null).describe("branch, tag or commit on the hub; null: main"),
  datasetCache: z.string().nullable().default(null).describe("folder for downloads; null: ~/.cache/atropos/hub"),
  trainSplit: z.string().default("train").describe("split that training items come from"),
  testSplit: z.string().default("test").describe("split that is evaluated"),
  maxTrainRows: z.int().default(-1).describe("take only so many training rows, -1: all"),
  maxTestRows: z.int().default(-1).describe("evaluate only so many rows, -1: all"),
})

export type DatasetFields = z.output<typeof datasetFields>

export interface EnvironmentRowsOptions {
  /** The pack behind `builtin`. */
  pack: string
  /** Columns that every row must have. */
  columns: readonly string[]
  logger?: Logger
  signal?: AbortSignal
}

/** The rows of an environment's training or test split, as its configuration says. */
export async function environmentRows<Wanted extends Row = Row>(
  config: DatasetFields,
  use: "train" | "test",
  options: EnvironmentRowsOptions,
): Promise<Dataset<Wanted>> {
  const split = use === "train" ? config.trainSplit : config.testSplit
  const most = use === "train" ? config.maxTrainRows : config.maxTestRows
  const rows =
    config.datasetName === builtIn
      ? (packRows(findPack(options.pack), use) as Dataset<Row>)
      : await open(config, split, options)
  // Columns were checked, or are the pack's own.
  const checked = rows as Dataset<Wanted>
  return most >= 0 ? checked.take(most) : checked
}

async function open(config: DatasetFields, split: string, options: EnvironmentRowsOptions): Promise<Dataset<Row>> {
  try {
    return await openDataset(config.datasetName, {
      split,
      columns: options.columns,
      ...(config.datasetConfig === null ? {} : { config: config.datasetConfig }),
      ...(config.datasetRevision === null ? {} : { revision: config.datasetRevision }),
      ...(config.datasetCache === null ? {} : { cacheFolder: config.datasetCache }),
      ...(options.logger === undefined ? {} : { logger: options.logger }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    })
  } catch (error) {
    if (!isAtroposError(error, "hub-unavailable")) throw error
    throw new AtroposError(
      "hub-unavailable",
      `${error.message}; --env.dataset_name ${builtIn} runs on a small built-in pack (${options.pack})`,
      { cause: error, facts: error.facts, retryable: error.retryable },
    )
  }
}
