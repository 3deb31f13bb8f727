import type { InferenceServer } from "../../inference/inference-server.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import { gatherGroups } from "../groups/gather-groups.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { Random } from "../random.ts"
import type { Rollout, RolloutResult } from "./rollout.ts"
import { type EndedRollout, type OpenSession, runRollout } from "./run-rollout.ts"

export interface GroupRunOptions<Config extends EnvironmentConfig> {
  item: unknown
  config: Config
  helpers: Readonly<Record<string, InferenceServer>>
  random: Random
  signal: AbortSignal
  logger: Logger
  step: number
  openSession: OpenSession
  /** Told of every rollout that has ended. */
  onRolloutEnd?: (rollout: EndedRollout<unknown>) => void
  /** Told when rollouts begin and end to run, so that their time is not counted as the group's. */
  onRunning?: (running: boolean) => void
}

/** What the rollouts of one item may use together. */
export class GroupRun<Config extends EnvironmentConfig = EnvironmentConfig> {
  readonly config: Config
  readonly helpers: Readonly<Record<string, InferenceServer>>
  readonly random: Random
  /** Aborted when the environment ends, or when the group's own work takes longer than worker_timeout. */
  readonly signal: AbortSignal
  readonly logger: Logger
  readonly step: number
  readonly #options: GroupRunOptions<Config>
  #runs = 0
  #running = 0

  constructor(options: GroupRunOptions<Config>) {
    this.#options = options
    this.config = options.config
    this.helpers = options.helpers
    this.random = options.random
    this.signal = options.signal
    this.logger = options.logger
    this.step = options.step
  }

  get groupSize(): number {
    return this.config.groupSize
  }

  /** Runs rollouts at the same time; one that fails is among the results and stops no other. */
  async run<Value>(
    rollout: (rollout: Rollout<Config>) => Promise<Value>,
    options: { count?: number } = {},
  ): Promise<EndedRollout<Value>[]> {
    const count = options.count ?? this.groupSize
    const random = this.random.fork(`run-${this.#runs++}`)
    if (this.#running++ === 0) this.#options.onRunning?.(true)
    try {
      return await Promise.all(Array.from({ length: count }, (_, index) => this.#one(index, random, rollout)))
    } finally {
      if (--this.#running === 0) this.#options.onRunning?.(false)
    }
  }

  async #one<Value>(
    index: number,
    random: Random,
    run: (rollout: Rollout<Config>) => Promise<Value>,
  ): Promise<EndedRollout<Value>> {
    const ended = await runRollout({ ...this.#options, random: random.fork(index), index, split: "train", run })
    this.#options.onRolloutEnd?.(ended)
    return ended
  }

  /** Makes groups of ended rollouts: one of the policy's sessions, and one of each further agent's. */
  score(rollouts: readonly EndedRollout<RolloutResult | undefined>[]): TrajectoryGroup[]
  score<Value>(
    rollouts: readonly EndedRollout<Value>[],
    scoring: (value: Value, index: number) => RolloutResult | undefined,
  ): TrajectoryGroup[]
  score(
    rollouts: readonly EndedRollout<unknown>[],
    scoring?: (value: unknown, index: number) => RolloutResult | undefined,
  ): TrajectoryGroup[] {
    return gatherGroups(rollouts, scoring ?? ((value) => value as RolloutResult | undefined))
  }
}
