// The names under which `serve` logs: a run of ours against a real server and a stub has them all.
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { runEnvironmentCommand } from "../../../packages/atropos/src/cli/environment/environment-commands.ts"
import { TrajectoryClient } from "../../../packages/atropos/src/protocol/trajectory-client.ts"
import { createMemoryStore } from "../../../packages/atropos/src/server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../../packages/atropos/src/server/trajectory-server.ts"
import type { Report } from "../../runner/suite.ts"
import { createContext } from "./context.ts"
import { SmallEnvironment } from "./small-environment.ts"

export interface MetricsFile {
  keys_by_step: Record<string, number[]>
}

export async function runMetrics(file: MetricsFile, name: string, report: Report): Promise<void> {
  const logged = await serveAndRead()
  for (const key of Object.keys(file.keys_by_step)) {
    const found = logged.has(key)
    report(`${name}: ${key}`, found ? { verdict: "passed" } : { verdict: "failed", difference: "never logged" })
  }
}

/** Every name that a served environment logs in some steps, with an evaluation and groups that fail. */
async function serveAndRead(): Promise<Set<string>> {
  const directory = await mkdtemp(join(tmpdir(), "atropos-metrics-"))
  const server = createTrajectoryServer({ store: createMemoryStore() })
  const url = await server.listen({ host: "127.0.0.1", port: 0 })
  const client = new TrajectoryClient({ url })
  const trained = new AbortController()
  try {
    await client.register({
      wandb_group: "group",
      wandb_project: "project",
      batch_size: 8,
      max_token_len: 256,
      checkpoint_dir: "",
      save_checkpoint_interval: 0,
      starting_step: 0,
      num_steps: 12,
    })
    const training = train(client, trained.signal)
    const argv = [
      "--testing",
      "true",
      "--env.rollout_server_url",
      url,
      "--env.variant",
      "sometimes",
      "--track",
      "jsonl=log.jsonl",
    ]
    const flags = ["--env.total_steps", "12", "--env.steps_per_eval", "3", "--env.max_num_workers", "2"]
    // One entry, at the end: a machine in a hurry makes all steps between two polls, and some names need two values.
    flags.push("--env.min_items_sent_before_logging", "1000000")
    await runEnvironmentCommand("serve", SmallEnvironment, [...argv, ...flags], createContext(directory).context)
    trained.abort()
    await training
    const names = new Set<string>()
    for (const line of (await readFile(join(directory, "log.jsonl"), "utf8")).trim().split("\n")) {
      const entry = JSON.parse(line) as { metrics: object; tables?: { name: string }[] }
      for (const key of Object.keys(entry.metrics)) names.add(key)
      for (const table of entry.tables ?? []) names.add(table.name)
    }
    return names
  } finally {
    await client.close()
    await server.close()
    await rm(directory, { recursive: true })
  }
}

async function train(client: TrajectoryClient, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await client.batch({ waitSeconds: 1, signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error
    })
  }
}
