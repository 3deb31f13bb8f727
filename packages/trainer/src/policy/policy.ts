import type { PolicyConfig } from "./config.ts"
import type { PickOptions } from "./pick-token.ts"
import type { Weights } from "./weights.ts"

/** Tokens `start` (included) to `end` (excluded) of a sample were drawn with weights `version`. */
export interface VersionSpan {
  version: number
  start: number
  end: number
}

export interface SampleRequest extends Omit<PickOptions, "banned"> {
  prompt: readonly number[]
  /** Samples of the prompt. */
  n: number
  /** Most tokens of a sample; less where the context ends. */
  maxTokens: number
  /** Drawing one of these ends the sample; it is part of it. */
  stopTokenIds: ReadonlySet<number>
  /** No stop token is drawn before so many tokens. @default 0 */
  minTokens?: number | undefined
  /** Fixes what is drawn, sample by sample, whatever else runs beside it. */
  seed?: number | undefined
  /** Looked at after each token: a text ends the sample and is reported as the reason. */
  stopWhen?: ((tokenIds: readonly number[]) => string | undefined) | undefined
  /** Likeliest tokens to report for each position, beside the one drawn. */
  alternatives?: number | undefined
  signal?: AbortSignal | undefined
}

export interface Sample {
  tokenIds: number[]
  /** Natural logs of the model's own distribution: before temperature, top-p, top-k and min-p. */
  logprobs: number[]
  /** For each position, as many of the likeliest tokens as were asked for. */
  alternatives: { tokenId: number; logprob: number }[][]
  finishReason: "stop" | "length" | "abort"
  /** The stop token or text that ended it. */
  stopReason: number | string | null
  /** Cover all tokens in order. */
  versions: VersionSpan[]
}

/** A model that answers prompts of token ids and whose weights can be exchanged while it does. */
export interface Policy {
  readonly config: PolicyConfig
  /** Weight updates so far. */
  readonly version: number
  /** The weights in use; not to be written to. */
  readonly weights: Weights
  /** Samples being drawn and waiting. */
  readonly load: { running: number; waiting: number }
  sample(request: SampleRequest): Promise<Sample[]>
  /** After each token of a text, the natural logs of the model's distribution over the next: [position][token id]. */
  score(tokens: readonly number[]): Promise<Float64Array[]>
  /** Resolves when the weights are in use, which is between two tokens of whatever is being drawn. */
  setWeights(weights: Weights, version: number): Promise<void>
  close(): Promise<void>
}
