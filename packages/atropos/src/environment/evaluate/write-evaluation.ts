import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { toSnake } from "../config/keys.ts"
import type { EvaluationResult, EvaluationSample } from "./evaluation.ts"

export interface EvaluationReport {
  /** The environment's name; the task is `<name>_eval`. */
  name: string
  modelName: string
  maxNewTokens: number
  seconds: number
  result: EvaluationResult
}

/** The content of `metrics.json`. */
export function metricsFile({ name, modelName, maxNewTokens, seconds, result }: EvaluationReport): unknown {
  return {
    config_general: {
      model_name: modelName,
      total_evaluation_time_seconds: String(seconds),
      generation_parameters: { max_new_tokens: maxNewTokens, ...snakeKeys(result.generationParameters ?? {}) },
    },
    results: { [`atropos|${name}_eval|0`]: result.metrics, all: result.metrics },
  }
}

/** Writes `metrics.json`, and `samples.jsonl` when there are samples. */
export async function writeEvaluation(directory: string, report: EvaluationReport): Promise<void> {
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "metrics.json"), JSON.stringify(metricsFile(report), undefined, 2))
  const { samples = [] } = report.result
  if (samples.length === 0) return
  const lines = samples.map((sample) => `${JSON.stringify(sampleLine(sample))}\n`)
  await writeFile(join(directory, "samples.jsonl"), lines.join(""))
}

/** Keys in the order and spelling of the original's files. */
export function sampleLine(sample: EvaluationSample): Record<string, unknown> {
  return snakeKeys(sample)
}

function snakeKeys(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).map(([key, value]) => [toSnake(key), value]))
}

/** The table that `evaluate` prints. */
export function evaluationTable({ name, seconds, result }: EvaluationReport): string {
  const task = `${name}_eval`
  const rows = Object.entries(result.metrics).map(([metric, value]) => {
    const shown = metric.replace(/^eval\//, "").replaceAll("_", " ")
    const sign = /correct|acc/.test(metric) ? "↑" : ""
    // The original prints 0.0000 for all of them.
    const error = (result.standardErrors?.[metric] ?? 0).toFixed(4)
    return [task, "1", "none", "", shown, sign, value.toFixed(4), "±", error]
  })
  const header = ["Groups", "Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr"]
  const widths = header.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)))
  const rightAligned = new Set([6, 8])
  const line = (cells: readonly string[]): string =>
    `|${cells.map((cell, column) => pad(cell, widths[column] ?? 0, rightAligned.has(column), column)).join("|")}|`
  const rule = `|${widths.map((width, column) => dashes(width, rightAligned.has(column), column)).join("|")}|`
  return [
    `Evaluation Results: ${task}`,
    line(header),
    rule,
    ...rows.map(line),
    `Evaluation completed in ${seconds.toFixed(2)} seconds`,
    "",
  ].join("\n")
}

/** Columns that hold one sign, with a blank at each side. */
const signColumns = new Set([5, 7])

function pad(cell: string, width: number, right: boolean, column: number): string {
  if (signColumns.has(column)) return ` ${cell.padEnd(1)} `
  return right ? cell.padStart(width) : cell.padEnd(width)
}

function dashes(width: number, right: boolean, column: number): string {
  if (signColumns.has(column)) return "---"
  return right ? `${"-".repeat(width - 1)}:` : "-".repeat(width)
}
