/** What the logprobs of a completion are of: before anything, after temperature, or after all sampling options. */
export type LogprobsMode = "raw" | "temperature" | "processed"

/** `abort` is no sample: an aborted answer is never scored. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "abort"

/** Tokens `start` (included) to `end` (excluded) of a completion were sampled by weights `version`. */
export interface VersionSpan {
  version: number
  start: number
  end: number
}

/** Every field is sent by name on training requests: servers fill gaps from the model's own files. */
export interface SamplingOptions {
  /** Answers per prompt. @default 1 */
  n?: number
  maxTokens: number
  /** @default 1 */
  temperature?: number
  /** @default 1 (off) */
  topP?: number
  /** @default 0 (off) */
  topK?: number
  /** @default 0 (off) */
  minP?: number
  stop?: readonly string[]
  stopTokenIds?: readonly number[]
  seed?: number
}

export interface RequestOptions {
  signal?: AbortSignal
  /** Which share of a server's places the request counts against. @default "train" */
  split?: "train" | "eval"
  /** Requests with one key go to one server while it is healthy (prefix cache). */
  stickyKey?: string
}

export interface TokenCompletion {
  /** Sampled ids, the stop token included when the server keeps it. */
  tokenIds: number[]
  /** One a sampled id, natural log. */
  logprobs: number[]
  text: string
  finishReason: FinishReason
  /** Cover all of `tokenIds` in order; empty where the server does not say. */
  versions: VersionSpan[]
}

export interface TokenCompletions {
  /** `n` of them, in order. */
  choices: TokenCompletion[]
  logprobsMode: LogprobsMode
  usage: Usage
}

export interface Usage {
  promptTokens: number
  completionTokens: number
  cachedTokens?: number
}

/** One inference server. All calls reject with an AtroposError that carries the server's own message and `retryable`. */
export interface InferenceServer {
  readonly name: string
  readonly baseUrl: string
  /** Samples from a prompt of token ids and reports exact ids and logprobs. */
  completeTokens(
    prompt: readonly number[],
    sampling: SamplingOptions,
    options?: RequestOptions,
  ): Promise<TokenCompletions>
  /** Resolves when the server answers as healthy, by its cheapest route; rejects otherwise. */
  health(options?: { signal?: AbortSignal }): Promise<void>
  /** Weight updates so far, or undefined where the server does not say. */
  policyVersion(options?: { signal?: AbortSignal }): Promise<number | undefined>
}
