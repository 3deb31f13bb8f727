import type { InferenceServer } from "../inference/inference-server.ts"
import type { Tokenizer } from "../chat/tokenizer.ts"
import type { Logger } from "../runtime/logger.ts"
import type { EnvironmentConfig } from "./config/environment-config.ts"
import type { Random } from "./random.ts"
import type { TrajectoryGroup } from "./groups/trajectory-group.ts"
import type { Evaluation, EvaluationResult } from "./evaluate/evaluation.ts"
import type { GroupRun } from "./rollouts/group-run.ts"
import type { Rollout, RolloutResult } from "./rollouts/rollout.ts"

/** What an environment is made with. */
export interface EnvironmentContext<Config extends EnvironmentConfig = EnvironmentConfig> {
  config: Config
  logger: Logger
  /** Fixed by `seed`; another one each time when that is null. */
  random: Random
  tokenizer: Tokenizer
  /** Inference servers beside the policy, by name. */
  helpers: Readonly<Record<string, InferenceServer>>
  /** The gateway that `--proxy_url` or ATROPOS_PROXY_URL names. */
  proxyUrl?: string
}

/** Groups of one item, and items to do next because of it. */
export interface Collected<Item> {
  groups: readonly TrajectoryGroup[]
  backlog?: readonly Item[]
}

/** Columns and rows that are logged under `train/<name>`. */
export interface LogTable {
  columns: readonly string[]
  rows: readonly (readonly (string | number | boolean | null)[])[]
}

/**
 * A task: items, rollouts and scores. Override what is different; only `nextItem` and one of
 * `collectTrajectory` and `collectTrajectories` have to be.
 */
export abstract class Environment<Item = unknown, Config extends EnvironmentConfig = EnvironmentConfig> {
  readonly config: Config
  readonly logger: Logger
  readonly random: Random
  readonly tokenizer: Tokenizer
  readonly helpers: Readonly<Record<string, InferenceServer>>
  readonly proxyUrl: string | undefined

  constructor(context: EnvironmentContext<Config>) {
    this.config = context.config
    this.logger = context.logger
    this.random = context.random
    this.tokenizer = context.tokenizer
    this.helpers = context.helpers
    this.proxyUrl = context.proxyUrl
  }

  /** Loads what the items come from. Called once, before anything else. */
  async setup(): Promise<void> {}

  /** The next item, or undefined when there is none any more. */
  abstract nextItem(): Item | undefined | Promise<Item | undefined>

  /** One rollout of an item; undefined leaves it out of its group. */
  collectTrajectory(_item: Item, _rollout: Rollout<Config>): Promise<RolloutResult | undefined> {
    throw new TypeError(`${this.constructor.name} has neither collectTrajectory nor collectTrajectories`)
  }

  /** All rollouts of an item; by default `groupSize` times `collectTrajectory`. */
  async collectTrajectories(
    item: Item,
    group: GroupRun<Config>,
  ): Promise<TrajectoryGroup | readonly TrajectoryGroup[] | Collected<Item> | undefined> {
    const rollouts = await group.run((rollout) => this.collectTrajectory(item, rollout))
    return group.score(rollouts)
  }

  /** Looks at a group before it is checked and sent; undefined drops it. */
  postprocess(group: TrajectoryGroup, _item: Item): TrajectoryGroup | undefined | Promise<TrajectoryGroup | undefined> {
    return group
  }

  /** Measures the policy; undefined when there is nothing to measure. */
  async evaluate(_evaluation: Evaluation<Config>): Promise<EvaluationResult | undefined> {
    return undefined
  }

  /** What a checkpoint keeps, as JSON, e.g. a position in the data. */
  saveCheckpoint(): unknown {
    return {}
  }

  /** Takes up where `saveCheckpoint` left off. */
  loadCheckpoint(_state: unknown): void | Promise<void> {}

  /** Metrics since the last log, by full name (`train/percent_correct`). Called once a log; starts over after. */
  metrics(): Record<string, number> {
    return {}
  }

  /** Tables since the last log, by full name (`train/examples`). Called once a log; starts over after. */
  tables(): Record<string, LogTable> {
    return {}
  }

  /** Items for tests and `atropos check`, there without a network or `setup`. */
  examples(): readonly Item[] {
    return []
  }

  /** What a perfect policy would answer in this turn of an item, for `atropos check` and `--testing`; undefined when nobody knows. */
  goldAnswer(_item: Item, _call: { turn: number; prompt: string }): string | undefined {
    return undefined
  }

  /** Frees what `setup` took. Called once at the end, also after a failure. */
  async cleanup(): Promise<void> {}
}
