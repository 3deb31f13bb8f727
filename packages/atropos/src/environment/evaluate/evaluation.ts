import type { InferenceMessage, InferenceServer } from "../../inference/inference-server.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Random } from "../random.ts"
import type { Rollout } from "../rollouts/rollout.ts"
import type { RolloutFailure } from "../rollouts/rollout-failure.ts"

/** One evaluated item as it is written to `samples.jsonl`; every key is optional and more may be added. */
export interface EvaluationSample {
  messages?: readonly InferenceMessage[]
  question?: string
  goldAnswer?: string
  goldParsed?: string | null
  modelParsed?: string | null
  score?: number
  correct?: boolean
  finishReason?: string
  responseAfterThink?: string
  [key: string]: unknown
}

export interface EvaluationResult {
  /** By full name, e.g. `eval/percent_correct`. */
  metrics: Readonly<Record<string, number>>
  /** Of the metrics that are means, by the same names; printed beside them. */
  standardErrors?: Readonly<Record<string, number>>
  samples?: readonly EvaluationSample[]
  /** What was sampled with, e.g. `{ temperature: 0.6 }`; written to `metrics.json`. */
  generationParameters?: Readonly<Record<string, unknown>>
}

export type EvaluatedItem<Item, Value> =
  | { status: "done"; item: Item; value: Value }
  | { status: "failed"; item: Item; failure: RolloutFailure }

/** What an evaluation may use. */
export interface Evaluation<Config extends EnvironmentConfig = EnvironmentConfig> {
  readonly config: Config
  readonly helpers: Readonly<Record<string, InferenceServer>>
  readonly random: Random
  readonly signal: AbortSignal
  readonly logger: Logger
  /** The trainer's step. */
  readonly step: number
  /**
   * Runs one rollout per item, as many at once as the servers take for evaluation, and reports in the order of
   * the items. Failures are among the results.
   */
  run<Item, Value>(
    items: Iterable<Item> | AsyncIterable<Item>,
    rollout: (item: Item, rollout: Rollout<Config>) => Promise<Value>,
  ): Promise<EvaluatedItem<Item, Value>[]>
}
