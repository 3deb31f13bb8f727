import type { InferenceMessage, InferenceServer } from "../../inference/inference-server.ts"
import type { Session } from "../../inference/session/session.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Random } from "../random.ts"

/** Why a rollout ended. */
export const rolloutEnds = {
  finished: "The task came to its own end.",
  "turn-limit": "The rollout had as many turns as it may have.",
  "token-limit": "An answer was cut, or the context had no room for another.",
  "time-limit": "The task's own time was over.",
  "gave-up": "The policy stopped before the task's end.",
} as const

export type RolloutEnd = keyof typeof rolloutEnds

/** What one rollout may use. */
export interface Rollout<Config extends EnvironmentConfig = EnvironmentConfig> {
  /** The rollout's record of calls to the policy. */
  readonly session: Session
  /** The session of a further agent, which gets a score and a group of its own; the same name gives the same session. */
  readonly agent: (name: string) => Session
  readonly config: Config
  /** Other inference servers by name, e.g. a judge. */
  readonly helpers: Readonly<Record<string, InferenceServer>>
  readonly random: Random
  /** Aborted when the rollout's time is over or the environment ends. */
  readonly signal: AbortSignal
  readonly logger: Logger
  /** Its place in the group, from 0. */
  readonly index: number
  readonly split: "train" | "eval"
  /** The trainer's step when the rollout began. */
  readonly step: number
}

/** What is said of one session's sequences. */
export interface Scoring {
  score: number
  /** Instead of the trainer's advantages: one per answer of the session, spread over that answer's tokens. */
  advantages?: readonly number[]
  /** What the trainer shall do otherwise, e.g. `{ set_advantage_to_zero: true }`. */
  overrides?: Readonly<Record<string, unknown>>
  /** An image that belongs to the rollout: base64 or a URL. */
  image?: unknown
  /** Goes out as the conversation instead of the session's own. */
  messages?: readonly InferenceMessage[]
}

export interface RolloutResult extends Scoring {
  /** Averaged into `train/<name>`. */
  metrics?: Readonly<Record<string, number>>
  /** @default "finished" */
  end?: RolloutEnd
  /** Scores of the further agents, by the names their sessions were opened with. */
  agents?: Readonly<Record<string, Scoring>>
}
