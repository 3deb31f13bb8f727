import type { InferenceMessage, VersionSpan } from "../../inference/inference-server.ts"
import type { SampledWith } from "../../inference/session/session.ts"

/** One training sequence with its score; arrays have one entry a token. */
export interface ScoredSequence {
  tokens: readonly number[]
  /** The token's id where it is trained on, else -100. */
  masks: readonly number[]
  score: number
  /** The sampled token's logprob where it is trained on, else 1.0. */
  logprobs?: readonly number[]
  /** False where the tokens are a tokenizer's reading of a provider's text, as sequences of sessions say. */
  exact?: boolean
  /** Advantages of their own instead of the trainer's, one a token. */
  advantages?: readonly number[]
  referenceLogprobs?: readonly number[]
  /** Token ids of the teacher at each position, and their logprobs. */
  distillTokenIds?: readonly (readonly number[])[]
  distillLogprobs?: readonly (readonly number[])[]
  /** Sent with the sequence whatever `include_messages` says. */
  messages?: readonly InferenceMessage[]
  /** The session's own conversation, sent with `include_messages`. */
  conversation?: readonly InferenceMessage[]
  /** What the trainer shall do otherwise for this sequence, e.g. `{ set_advantage_to_zero: true }`. */
  overrides?: Readonly<Record<string, unknown>>
  /** An image that belongs to it: base64 or a URL. */
  image?: unknown
  versions?: readonly VersionSpan[]
  sampledWith?: SampledWith
}

/** The sequences of one item, scored together: what is sent, and never split. */
export interface TrajectoryGroup {
  sequences: readonly ScoredSequence[]
  /** What the trainer shall do otherwise for this group, e.g. `{ sft: true }`. */
  groupOverrides?: Readonly<Record<string, unknown>>
  generationParams?: Readonly<Record<string, unknown>>
}
