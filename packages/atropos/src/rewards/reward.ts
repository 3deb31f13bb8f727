import type { z } from "zod"

import type { JudgeService } from "./judge-service.ts"

/** What a policy said, in any of the forms it comes in; see `contentOf`. */
export type Completion = unknown

/** What is known of the item: `solution`, `groundTruth`, further columns of its row (snake_case names become camelCase). */
export type RewardContext = Readonly<Record<string, unknown>>

/** One value a completion; undefined where the reward could not be had (a judge that failed), which is not a low one. */
export type RewardValues = readonly (number | undefined)[]

/** Values, with metrics of parts where a reward is made of others. */
export type RewardResult = RewardValues | { values: RewardValues; metrics: Readonly<Record<string, number>> }

/** Scores completions of one item. `compute` gives raw values; `callReward` applies the weight and reports. */
export interface Reward {
  readonly name: string
  readonly weight: number
  compute(completions: readonly Completion[], context: RewardContext): RewardResult | Promise<RewardResult>
}

/** A reward function without settings, as users write them. */
export type PlainReward = (
  completions: readonly Completion[],
  context: RewardContext,
) => RewardResult | Promise<RewardResult>

/** What some rewards need from outside; given to the registry. */
export interface RewardServices {
  /** Mean-pooled sentence embeddings of texts, undefined for a text without one. */
  embed?: (texts: readonly string[], model: string) => Promise<readonly (readonly number[] | undefined)[]>
  /** Names the metre of a Sanskrit verse in SLP1. */
  classifyMetre?: (
    verse: string,
  ) => Promise<{ name: string; score?: number } | undefined> | { name: string; score?: number } | undefined
  /** The model behind the `judge` reward. */
  judge?: JudgeService
  /** Makes the parts of a combined reward. */
  create?: (spec: RewardSpec) => Reward
}

/** A reward by name, or with its settings: `{ type: "format", weight: 0.5, params: { require_all_tags: true } }`. */
export type RewardSpec =
  | string
  | Reward
  | PlainReward
  | ({ type: string; weight?: number; params?: Readonly<Record<string, unknown>> } & Readonly<Record<string, unknown>>)

/** A kind of reward: its settings with their defaults, and how it is made of them. */
export interface RewardKind<Schema extends z.ZodObject = z.ZodObject> {
  /** As in configuration files. */
  name: string
  description: string
  options: Schema
  create(options: z.output<Schema>, services: RewardServices): Reward["compute"]
}

export function defineReward<Schema extends z.ZodObject>(kind: RewardKind<Schema>): RewardKind<Schema> {
  return kind
}

export interface RewardCall {
  /** Weighted; 0 for every completion when the reward failed as a whole. */
  values: RewardValues
  /** `reward/<name>/mean_raw`, `mean_weighted`, `min`, `max`, and `failed` when some could not be had. */
  metrics: Record<string, number>
  /** Why the reward failed as a whole. */
  error?: Error
}

/** Computes a reward, multiplies by its weight and reports on it. A reward that throws gives 0 everywhere, and says so. */
export async function callReward(
  reward: Reward,
  completions: readonly Completion[],
  context: RewardContext = {},
): Promise<RewardCall> {
  let raw: RewardValues
  let partMetrics: Readonly<Record<string, number>> = {}
  let error: Error | undefined
  try {
    const result = await reward.compute(completions, camelKeys(context))
    if ("metrics" in result) {
      raw = result.values
      partMetrics = result.metrics
    } else raw = result
  } catch (thrown) {
    error = thrown instanceof Error ? thrown : new Error("a reward threw what is no error", { cause: thrown })
    raw = completions.map(() => 0)
  }
  const values = raw.map((value) => (value === undefined ? undefined : value * reward.weight))
  return {
    values,
    metrics: { ...partMetrics, ...report(reward.name, raw, values) },
    ...(error === undefined ? {} : { error }),
  }
}

function report(name: string, raw: RewardValues, weighted: RewardValues): Record<string, number> {
  const known = raw.filter((value) => value !== undefined)
  const metrics: Record<string, number> = {}
  if (known.length > 0) {
    const weightedKnown = weighted.filter((value) => value !== undefined)
    metrics[`reward/${name}/mean_raw`] = mean(known)
    metrics[`reward/${name}/mean_weighted`] = mean(weightedKnown)
    metrics[`reward/${name}/min`] = Math.min(...known)
    metrics[`reward/${name}/max`] = Math.max(...known)
  }
  if (known.length < raw.length) metrics[`reward/${name}/failed`] = raw.length - known.length
  return metrics
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Rows of data sets and configuration files spell names with underscores. */
export function camelKeys(values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [
      key.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  )
}
