// `process`: exit codes, files and the keys of the groups, by the kind of environment.
import { existsSync } from "node:fs"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { runEnvironmentCommand } from "../../../packages/atropos/src/cli/environment/environment-commands.ts"
import type { Report, Verdict } from "../../runner/suite.ts"
import { createContext } from "./context.ts"
import { knownVariants, SmallEnvironment } from "./small-environment.ts"

interface RecordedRun {
  flags?: string[]
  exit?: number
  files?: string[]
  groups?: number
  wandb?: { step?: number; keys?: string[] }[]
}

export type RunsFile = Record<string, RecordedRun>

/** What ours does otherwise: a rollout that fails is reported and the next item is taken. */
const ours: Readonly<Record<string, RecordedRun>> = { failing: { exit: 0, groups: 2 } }

/** Runs recorded without their flags. */
const flagsOf: Readonly<Record<string, string[]>> = {
  failing: ["--env.variant", "failing"],
  long: ["--env.variant", "long"],
  "no-more-items": ["--env.variant", "no-more-items", "--env.total_steps", "5"],
}

/** Keys that ours adds: how a group was sampled, and logprobs also in chats. */
const added = new Set(["generation_params", "inference_logprobs"])

export async function runProcessRuns(file: string, runs: RunsFile, report: Report): Promise<void> {
  for (const [name, recorded] of Object.entries(runs)) {
    const id = `runs.json: ${name}`
    const flags = recorded.flags ?? flagsOf[name] ?? []
    const variant = flags[flags.indexOf("--env.variant") + 1] ?? "plain"
    if (flags.includes("--env.variant") && !knownVariants.includes(variant)) {
      report(id, { verdict: "skipped", reason: `no environment of ours has the variant ${variant}` })
      continue
    }
    const directory = await mkdtemp(join(tmpdir(), "atropos-process-"))
    try {
      const times = name === "again" ? 2 : 1
      const expected = { ...recorded, ...ours[name] }
      report(
        id,
        await checkRun({ directory, expected, flags, times, recordedGroups: join(dirname(file), `${name}.jsonl`) }),
      )
    } finally {
      await rm(directory, { recursive: true })
    }
  }
}

async function checkRun(options: {
  directory: string
  expected: RecordedRun
  flags: readonly string[]
  times: number
  recordedGroups: string
}): Promise<Verdict> {
  const { directory, expected, flags, times, recordedGroups } = options
  const total = String(expected.groups === 1 ? 1 : 2)
  let exit = -1
  const { context, log } = createContext(directory)
  for (let time = 0; time < times; time++) {
    const argv = [
      "--testing",
      "true",
      "--env.total_steps",
      total,
      "--env.group_size",
      "2",
      // As it was recorded: the next group begins when the one before is logged.
      "--env.max_num_workers",
      "1",
      "--track",
      "jsonl=log.jsonl",
      ...flags,
    ]
    exit = await runEnvironmentCommand("process", SmallEnvironment, argv, context)
  }
  if (exit !== (expected.exit ?? 0)) return failed(`exit ${exit}, expected ${expected.exit}; ${log()}`)
  const files = (await readdir(join(directory, "data"))).map((name) => `data/${name}`).toSorted()
  if (expected.files !== undefined && files.join() !== expected.files.join()) {
    return failed(`files ${files.join(", ")}, expected ${expected.files.join(", ")}`)
  }
  const groups = await readLines(join(directory, "data", "small.jsonl"))
  if (expected.groups !== undefined && groups.length !== expected.groups) {
    return failed(`${groups.length} groups, expected ${expected.groups}`)
  }
  const page = await readFile(join(directory, "data", "small.html"), "utf8")
  if (!page.includes("</html>") || /(src|href)="http/.test(page))
    return failed("the page is not whole, or loads something")
  const entries = await readLines(join(directory, "log.jsonl"))
  for (const { step, keys } of expected.wandb ?? []) {
    if (step === undefined || keys === undefined) continue
    const missing = keys.filter((key) => !loggedAt(entries, step).has(key))
    if (missing.length > 0) return failed(`at step ${step} nothing was logged of ${missing.join(", ")}`)
  }
  return existsSync(recordedGroups) ? compareGroups(await readLines(recordedGroups), groups) : { verdict: "passed" }
}

function loggedAt(entries: readonly Record<string, unknown>[], step: number): Set<string> {
  const keys = new Set<string>()
  for (const entry of entries) {
    if (entry["step"] !== step) continue
    for (const key of Object.keys(entry["metrics"] as object)) keys.add(key)
    for (const table of (entry["tables"] ?? []) as { name: string }[]) keys.add(table.name)
  }
  return keys
}

function compareGroups(
  recorded: readonly Record<string, unknown>[],
  groups: readonly Record<string, unknown>[],
): Verdict {
  for (const [index, theirs] of recorded.entries()) {
    const group = groups[index]
    if (group === undefined) return failed(`group ${index} is missing`)
    const wanted = describe(theirs)
    const got = describe(group).filter((key) => wanted.includes(key) || !added.has(key.split(":")[0] ?? ""))
    if (got.join() !== wanted.join())
      return failed(`group ${index} has ${got.join(", ")}; recorded ${wanted.join(", ")}`)
  }
  return { verdict: "passed" }
}

/** The keys, with how many sequences each has or what it is. */
function describe(group: Record<string, unknown>): string[] {
  return Object.entries(group)
    .map(([key, value]) => {
      if (value === null) return `${key}:null`
      return Array.isArray(value) ? `${key}:${value.length}` : `${key}:${describeObject(key, value as object)}`
    })
    .toSorted()
}

function describeObject(key: string, value: object): string {
  return key === "group_overrides" ? JSON.stringify(value) : "object"
}

async function readLines(file: string): Promise<Record<string, unknown>[]> {
  const text = await readFile(file, "utf8")
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

function failed(difference: string): Verdict {
  return { verdict: "failed", difference }
}
