import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import {
  createEnvironment,
  type AnyEnvironmentClass,
} from "../../../packages/atropos/src/environment/environment-class.ts"
import { withFieldNames } from "../../../packages/atropos/src/environment/config/keys.ts"
import {
  environmentConfig,
  type EnvironmentConfig,
} from "../../../packages/atropos/src/environment/config/environment-config.ts"
import type { Environment } from "../../../packages/atropos/src/environment/environment.ts"
import type { EvaluationResult } from "../../../packages/atropos/src/environment/evaluate/evaluation.ts"
import { runEvaluation } from "../../../packages/atropos/src/environment/evaluate/run-evaluation.ts"
import type { TrajectoryGroup } from "../../../packages/atropos/src/environment/groups/trajectory-group.ts"
import { createRandom } from "../../../packages/atropos/src/environment/random.ts"
import { collectItem } from "../../../packages/atropos/src/environment/rollouts/collect-item.ts"
import { createStubTokenizer } from "../../../packages/atropos/src/inference/stub/tokenizer/stub-tokenizer.ts"
import { silentLogger } from "../../../packages/atropos/src/runtime/logger.ts"
import type { RowRollout } from "./row.ts"
import { ScriptedSession } from "./scripted-session.ts"

export interface CollectedGroup {
  /** The group as far as the environment itself lets it pass; undefined when it is dropped. */
  group: TrajectoryGroup | undefined
  /** Indexes of the rollouts that stayed. */
  kept: number[]
  metrics: Record<string, number>
  sessions: ScriptedSession[]
}

/** One item through an environment, with scripted replies in place of the policy. */
export async function collectScripted(
  environmentClass: AnyEnvironmentClass,
  given: Readonly<Record<string, unknown>>,
  item: unknown,
  replies: readonly RowRollout[],
): Promise<CollectedGroup> {
  const config = configOf(environmentClass, { group_size: replies.length, ...given })
  const environment = await open(environmentClass, { ...config, groupSize: replies.length })
  const sessions: ScriptedSession[] = []
  const collected = await collectItem({
    environment,
    item,
    config: { ...config, groupSize: replies.length },
    limits: { ...config, groupSize: replies.length, maxTokenLen: -1 },
    random: createRandom(1),
    signal: new AbortController().signal,
    logger: silentLogger,
    step: 0,
    openSession: () => {
      const session = new ScriptedSession(replies[sessions.length] ?? { text: "", finish_reason: "stop" })
      sessions.push(session)
      return session
    },
  })
  const [failure] = collected.failures
  if (failure !== undefined) throw failure.cause
  // Whether there are enough sequences is asked when a group is sent; the cases stop before.
  const short = collected.dropped.find(({ reason }) => reason === "size")?.group
  const group = collected.groups[0] ?? (short !== undefined && !hasEqualScores(short) ? short : undefined)
  const kept = (group?.sequences ?? []).map(({ tokens }) =>
    sessions.findIndex((session) => session.sequences().some((sequence) => sequence.tokens === tokens)),
  )
  const metrics = environment.metrics()
  await environment.cleanup()
  return { group, kept, metrics, sessions }
}

/** An evaluation over one row with a scripted reply. */
export async function evaluateScripted(
  environmentClass: AnyEnvironmentClass,
  given: Readonly<Record<string, unknown>>,
  item: unknown,
  reply: RowRollout,
): Promise<{ result: EvaluationResult | undefined; sessions: ScriptedSession[] }> {
  const folder = mkdtempSync(join(tmpdir(), "atropos-scores-"))
  try {
    const file = join(folder, "rows.jsonl")
    writeFileSync(file, `${JSON.stringify(item)}\n`)
    const config = configOf(environmentClass, { ...given, dataset_name: file })
    const environment = await open(environmentClass, config)
    const sessions: ScriptedSession[] = []
    const result = await runEvaluation({
      environment,
      config,
      random: createRandom(1),
      signal: new AbortController().signal,
      logger: silentLogger,
      step: 0,
      openSession: () => {
        const session = new ScriptedSession(reply)
        sessions.push(session)
        return session
      },
    })
    await environment.cleanup()
    return { result, sessions }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** The configuration with an environment's defaults and a row's settings; data come from the built-in pack. */
function configOf(environmentClass: AnyEnvironmentClass, given: Readonly<Record<string, unknown>>): EnvironmentConfig {
  const schema = environmentClass.about.config ?? environmentConfig
  const known = Object.keys(schema.shape)
  return schema.parse({
    ...withFieldNames(environmentClass.about.defaults ?? {}, known),
    ...withFieldNames({ dataset_name: "builtin", ...given }, known),
  }) as EnvironmentConfig
}

async function open(environmentClass: AnyEnvironmentClass, config: EnvironmentConfig): Promise<Environment> {
  const environment = createEnvironment(environmentClass, {
    config,
    logger: silentLogger,
    random: createRandom(1),
    tokenizer: createStubTokenizer(),
    helpers: {},
  })
  await environment.setup()
  return environment
}

function hasEqualScores({ sequences }: TrajectoryGroup): boolean {
  return sequences.length > 1 && sequences.every(({ score }) => score === sequences[0]?.score)
}
