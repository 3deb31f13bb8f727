import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { Session } from "../../inference/session/session.ts"
import type { MetricsEntry, MetricsTable } from "../../tracking/tracker.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Environment } from "../environment.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { RolloutResult } from "../rollouts/rollout.ts"
import type { RunListener } from "./run-listener.ts"
import { largest, mean, Series, smallest, standardDeviation } from "./statistics.ts"

export interface RunMetricsOptions {
  environment: Pick<Environment, "metrics" | "tables">
  config: Pick<EnvironmentConfig, "numRolloutsToKeep" | "numRolloutsPerGroupForLogging" | "maxTokenLength">
  tokenizer: Pick<Tokenizer, "decode">
  /** Put in front of the environment's metrics: `small_0_` once registered. */
  prefix: string
  /** Metrics of the inference servers, which get no prefix. */
  serverMetrics?: () => Record<string, number>
}

/** Gathers what happens between two logs, under the original's names. */
export class RunMetrics implements RunListener {
  readonly #options: RunMetricsOptions
  #prefix: string
  #maxTokenLen: number
  #lengths: number[] = []
  #series = new Series()
  #evaluation: Record<string, number> = {}
  #drops = new Map<string, number>()
  #failures = new Map<string, number>()
  #ends = new Map<string, number>()
  #turns = new Map<string, number>()
  #rolloutMetrics = new Map<string, number[]>()
  #rollouts: { tokens: readonly number[]; score: number }[][] = []
  #lastStatus: number | undefined
  /** Groups sent since the last entry was made. */
  groupsSent = 0

  constructor(options: RunMetricsOptions) {
    this.#options = options
    this.#prefix = options.prefix
    this.#maxTokenLen = options.config.maxTokenLength
  }

  registered: NonNullable<RunListener["registered"]> = ({ name, maxTokenLen }) => {
    this.#prefix = `${name}_`
    if (maxTokenLen > 0) this.#maxTokenLen = maxTokenLen
  }

  status: NonNullable<RunListener["status"]> = ({ started }) => {
    const now = performance.now()
    if (this.#lastStatus !== undefined) {
      this.#series.add("train_perf/mainloop_timings", (now - this.#lastStatus) / 1000)
      this.#series.add("train_perf/workers_added_per_attempt", started)
    }
    this.#lastStatus = now
  }

  rolloutEnd: NonNullable<RunListener["rolloutEnd"]> = (rollout) => {
    if (rollout.status === "failed") return count(this.#failures, rollout.failure.boundary)
    for (const session of rollout.sessions.values()) this.#countSession(session)
    if (!isResult(rollout.value)) return
    count(this.#ends, rollout.value.end ?? "finished")
    for (const [name, value] of Object.entries(rollout.value.metrics ?? {})) {
      const values = this.#rolloutMetrics.get(name) ?? []
      this.#rolloutMetrics.set(name, values)
      values.push(value)
    }
  }

  itemEnd: NonNullable<RunListener["itemEnd"]> = ({ seconds, productive }) => {
    this.#series.add("train_perf/task_duration", seconds)
    this.#series.add(`train_perf/${productive ? "succeeded" : "failed"}_task_duration`, seconds)
  }

  groupSent: NonNullable<RunListener["groupSent"]> = (group) => {
    this.groupsSent += 1
    for (const { masks } of group.sequences) {
      this.#lengths.push(masks.reduce((sum, mask) => sum + (mask === -100 ? 0 : 1), 0))
    }
    this.#keepRollouts(group)
  }

  groupDrop: NonNullable<RunListener["groupDrop"]> = ({ reason }) => count(this.#drops, reason)

  evaluationEnd: NonNullable<RunListener["evaluationEnd"]> = ({ result }) => {
    Object.assign(this.#evaluation, result?.metrics)
  }

  /** Everything since the last entry, and begins anew. */
  entry(source: string, step: number): MetricsEntry {
    const { environment, serverMetrics } = this.#options
    const own: Record<string, number> = {
      ...this.#lengthMetrics(),
      ...environment.metrics(),
      ...this.#evaluation,
      ...this.#series.metrics(),
      ...counted("train/groups_dropped", this.#drops),
      ...counted("train/rollouts_failed", this.#failures),
      ...counted("train/rollouts_ended", this.#ends),
      ...counted("train/session", this.#turns),
      ...Object.fromEntries([...this.#rolloutMetrics].map(([name, values]) => [`train/${name}`, mean(values)])),
    }
    const sent = this.#series.count("train_perf/succeeded_task_duration")
    if (sent > 1) own["train/items_sent_to_api"] = sent
    const rejected = this.#series.count("train_perf/failed_task_duration")
    if (rejected > 1) own["train/items_rejected"] = rejected
    const tables = this.#tables()
    this.#reset()
    return {
      source,
      step,
      time: Date.now(),
      metrics: {
        ...Object.fromEntries(Object.entries(own).map(([name, value]) => [this.#prefix + name, value])),
        ...serverMetrics?.(),
      },
      ...(tables.length === 0 ? {} : { tables }),
    }
  }

  #lengthMetrics(): Record<string, number> {
    if (this.#lengths.length === 0) return {}
    const name = "train/completion_lengths"
    const long = this.#lengths.filter((length) => length > 0.95 * this.#maxTokenLen).length
    return {
      [name]: mean(this.#lengths),
      [`${name}_std`]: standardDeviation(this.#lengths),
      [`${name}_max`]: largest(this.#lengths),
      [`${name}_min`]: smallest(this.#lengths),
      [`${name}_p95`]: long / this.#lengths.length,
    }
  }

  /** How turns were joined; what broke a conversation into several sequences is what a user may want to change. */
  #countSession({ counts }: Session): void {
    if (counts.extends + counts.branches === 0) return
    add(this.#turns, "extends", counts.extends)
    add(this.#turns, "branches", counts.branches)
    for (const [reason, number] of Object.entries(counts.reasons)) add(this.#turns, `branches_${reason}`, number)
    for (const [fidelity, number] of Object.entries(counts.fidelity)) add(this.#turns, `extends_${fidelity}`, number)
  }

  #keepRollouts({ sequences }: TrajectoryGroup): void {
    const { numRolloutsToKeep, numRolloutsPerGroupForLogging } = this.#options.config
    if (numRolloutsToKeep === 0) return
    const kept = numRolloutsPerGroupForLogging === -1 ? sequences : sequences.slice(0, numRolloutsPerGroupForLogging)
    this.#rollouts.push(kept.map(({ tokens, score }) => ({ tokens, score })))
    if (this.#rollouts.length > numRolloutsToKeep) this.#rollouts.shift()
  }

  #tables(): MetricsTable[] {
    const own = Object.entries(this.#options.environment.tables()).map(([name, table]) => ({ name, ...table }))
    const rows = this.#rollouts.flat().map(({ tokens, score }) => [this.#options.tokenizer.decode(tokens), score])
    const rollouts = rows.length === 0 ? [] : [{ name: "train/rollouts", columns: ["text", "score"], rows }]
    return [...rollouts, ...own].map((table) => ({ ...table, name: this.#prefix + table.name }))
  }

  #reset(): void {
    this.#lengths = []
    this.#series = new Series()
    this.#evaluation = {}
    this.#drops = new Map()
    this.#failures = new Map()
    this.#ends = new Map()
    this.#turns = new Map()
    this.#rolloutMetrics = new Map()
    this.#rollouts = []
    this.groupsSent = 0
  }
}

function isResult(value: unknown): value is RolloutResult {
  return typeof value === "object" && value !== null && "score" in value
}

function count(counts: Map<string, number>, key: string): void {
  add(counts, key, 1)
}

function add(counts: Map<string, number>, key: string, number: number): void {
  counts.set(key, (counts.get(key) ?? 0) + number)
}

function counted(name: string, counts: ReadonlyMap<string, number>): Record<string, number> {
  return Object.fromEntries([...counts].map(([key, value]) => [`${name}_${key.replaceAll("-", "_")}`, value]))
}
