// What `evaluate` writes and prints: the recorded files through our writers and readers, and a run of ours beside them.
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, relative } from "node:path"
import { isDeepStrictEqual } from "node:util"

import { parse } from "yaml"

import { configurationFile } from "../../../packages/atropos/src/cli/environment/evaluate-command.ts"
import { runEnvironmentCommand } from "../../../packages/atropos/src/cli/environment/environment-commands.ts"
import { resolveConfiguration } from "../../../packages/atropos/src/cli/environment/resolve-configuration.ts"
import {
  evaluationTable,
  metricsFile,
  sampleLine,
} from "../../../packages/atropos/src/environment/evaluate/write-evaluation.ts"
import type { Report, Verdict } from "../../runner/suite.ts"
import { createContext } from "./context.ts"
import { aboutSmall, SmallEnvironment } from "./small-environment.ts"

type Content = Record<string, unknown>

interface MetricsContent {
  config_general: { model_name: string; total_evaluation_time_seconds: string; generation_parameters: Content }
  results: Record<string, Record<string, number>>
}

/** One recorded file of an evaluation, by its name. */
export async function runEvaluateFile(file: string, root: string, report: Report): Promise<void> {
  const id = relative(root, file) || file
  const text = await readFile(file, "utf8")
  if (file.endsWith("evaluate_config.yaml")) report(id, checkConfiguration(text))
  else if (file.endsWith("printed.txt")) report(id, await checkPrinted(file, text))
  else if (file.endsWith("samples.jsonl")) await checkSamples(id, text, report)
  else report(id, checkMetrics(text))
}

/** A run of ours: that it writes the files, with the keys of the recorded ones. */
export async function runOwnEvaluation(recordedMetrics: string, root: string, report: Report): Promise<void> {
  const id = relative(root, dirname(recordedMetrics))
  const directory = await mkdtemp(join(tmpdir(), "atropos-evaluate-"))
  try {
    const { context, output } = createContext(directory)
    const argv = ["--testing", "true", "--env.data_dir_to_save_evals", "evals", "--env.eval_items", "3"]
    const exit = await runEnvironmentCommand("evaluate", SmallEnvironment, argv, context)
    const read = async (name: string): Promise<string> => readFile(join(directory, "evals", name), "utf8")
    const ours = JSON.parse(await read("metrics.json")) as Content
    const recorded = JSON.parse(await readFile(recordedMetrics, "utf8")) as Content
    report(`${id}: metrics.json as ours writes it`, same(shapeOf(recorded), shapeOf(ours)))
    const sample = JSON.parse((await read("samples.jsonl")).split("\n")[0] ?? "") as Content
    const recordedSamples = await readFile(join(dirname(recordedMetrics), "samples.jsonl"), "utf8")
    const recordedSample = JSON.parse(recordedSamples.split("\n")[0] ?? "") as Content
    report(`${id}: samples.jsonl as ours writes it`, same(Object.keys(recordedSample), Object.keys(sample)))
    const printed = output()
    report(
      `${id}: exit 0 and a table`,
      exit === 0 && printed.includes("|percent correct| ↑ |") ? passed : failed(printed),
    )
  } finally {
    await rm(directory, { recursive: true })
  }
}

function checkMetrics(text: string): Verdict {
  const recorded = JSON.parse(text) as MetricsContent
  const { model_name, total_evaluation_time_seconds, generation_parameters } = recorded.config_general
  const { max_new_tokens, ...others } = generation_parameters
  const task = Object.keys(recorded.results).find((name) => name !== "all") ?? ""
  const ours = metricsFile({
    name: /^atropos\|(.*)_eval\|0$/.exec(task)?.[1] ?? task,
    modelName: model_name,
    maxNewTokens: Number(max_new_tokens),
    seconds: Number(total_evaluation_time_seconds),
    result: { metrics: recorded.results["all"] ?? {}, generationParameters: others },
  })
  return same(recorded, ours)
}

async function checkPrinted(file: string, text: string): Promise<Verdict> {
  const recorded = JSON.parse(await readFile(join(dirname(file), "metrics.json"), "utf8")) as MetricsContent
  const name = /^Evaluation Results: (.*)_eval$/m.exec(text)?.[1] ?? ""
  const ours = evaluationTable({
    name,
    modelName: "",
    maxNewTokens: 0,
    seconds: Number(recorded.config_general.total_evaluation_time_seconds),
    result: { metrics: recorded.results["all"] ?? {} },
  })
  return ours.trim() === text.trim() ? passed : failed(`\n${ours}\nrecorded\n${text}`)
}

async function checkSamples(id: string, text: string, report: Report): Promise<void> {
  for (const [index, line] of text.trim().split("\n").entries()) {
    const recorded = JSON.parse(line) as Content
    const camel = Object.fromEntries(
      Object.entries(recorded).map(([key, value]) => [
        key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
        value,
      ]),
    )
    report(`${id}#${index}`, same(recorded, sampleLine(camel)))
  }
}

/** A recorded configuration, read as `--config` and written again. */
function checkConfiguration(text: string): Verdict {
  const recorded = parse(text) as { env: Content; openai: unknown; slurm: boolean; testing: boolean }
  const about = { ...aboutSmall(), defaults: {} }
  const written = configurationFile(resolveConfiguration({ about, flags: [], file: recorded })) as typeof recorded
  const env = Object.fromEntries(Object.entries(written.env).filter(([key]) => key in recorded.env))
  return same(sorted({ ...recorded }), sorted({ ...written, env }))
}

const passed: Verdict = { verdict: "passed" }

function failed(difference: string): Verdict {
  return { verdict: "failed", difference }
}

function same(recorded: unknown, ours: unknown): Verdict {
  if (isDeepStrictEqual(recorded, ours)) return passed
  return failed(`${JSON.stringify(ours)}, recorded ${JSON.stringify(recorded)}`)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}

/** Keys and types, at every depth. */
function shapeOf(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return typeof value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shapeOf(inner)]))
}
