import { z } from "zod"

import { logLevels } from "../../runtime/logger.ts"

/** Flags of serve, process and evaluate without a namespace; the first four may also stand in the YAML file. */
export const runOptions = z.object({
  slurm: z.boolean().default(false).describe("take the inference servers from the Slurm job's nodes"),
  testing: z
    .boolean()
    .default(false)
    .describe("let a model stub answer instead of the configured servers, half the time with the gold answer"),
  maxNCompletions: z.int().min(1).default(8).describe("answers that one request asks for at most; more are split"),
  proxyUrl: z
    .string()
    .nullable()
    .default(null)
    .describe(
      "address of a gateway for agents, null: from ATROPOS_PROXY_URL; read by environments only, as their proxyUrl",
    ),
  config: z.string().nullable().default(null).describe("YAML file with env, openai and the flags above"),
  allowUnknown: z.boolean().default(false).describe("warn of unknown keys in the YAML file instead of refusing it"),
  track: z.string().default("console,server").describe("where metrics go: console, jsonl[=FILE], server; or none"),
  json: z.boolean().default(false).describe("print results and log lines as JSON"),
  quiet: z
    .boolean()
    .default(false)
    .describe("show no progress, neither drawn on a terminal nor as a line now and then"),
  logLevel: z.enum(logLevels).default("info").describe("least level of log lines"),
})

export type RunOptions = z.output<typeof runOptions>

/** Keys of `runOptions` that a YAML file may have. */
export const fileOptions = ["slurm", "testing", "max_n_completions", "proxy_url"]
