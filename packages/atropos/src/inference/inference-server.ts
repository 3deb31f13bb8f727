import type { ChatMessage } from "../chat/messages.ts"
import type { TokenIdList } from "../chat/token-ids.ts"

/** What the logprobs of a completion are of: before anything, after temperature, or after all sampling options. */
export type LogprobsMode = "raw" | "temperature" | "processed"

/** `abort` is no sample: an aborted answer is never scored. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "abort"

/** Tokens `start` (included) to `end` (excluded) of a completion were sampled by weights `version`. */
export interface VersionSpan {
  /** Weight updates so far: the number in the server's name of the version, 0 for a name without one. */
  version: number
  start: number
  end: number
  /** The version as the server names it, where that is not just the number. */
  label?: string
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
  /** @default 1 (off) */
  repetitionPenalty?: number
  /** @default 0 (off) */
  presencePenalty?: number
  /** @default 0 (off) */
  frequencyPenalty?: number
  stop?: readonly string[]
  stopTokenIds?: readonly number[]
  /** Samples no end token before so many tokens. */
  minTokens?: number
  /** Goes on after an end token. */
  ignoreEos?: boolean
  /** Added to the logits of these token ids. */
  logitBias?: Readonly<Record<number, number>>
  seed?: number
  /** Reports this many best alternatives beside each sampled token. @default 0 */
  topLogprobs?: number
  /** Further fields in the server's own words (a grammar, a priority), sent as they are; they win over the rest. */
  extra?: Readonly<Record<string, unknown>>
}

export interface RequestOptions {
  signal?: AbortSignal
  /** Which share of a server's places the request counts against. @default "train" */
  split?: "train" | "eval"
  /** Requests with one key go to one server while it is healthy (prefix cache). */
  stickyKey?: string
  /**
   * Asks for a stream and is called with every piece as it comes; the promise still resolves to the whole.
   * Once a piece was passed on, a failure is not retried.
   */
  onDelta?: (delta: CompletionDelta) => void
}

/** A piece of one choice; fields that a piece does not have are absent. A piece may hold tokens without text. */
export interface CompletionDelta {
  choice: number
  text?: string
  reasoning?: string
  tokenIds?: readonly number[]
  logprobs?: readonly number[]
  toolCalls?: readonly ToolCallDelta[]
  finishReason?: FinishReason
}

export interface ToolCallDelta {
  index: number
  id?: string
  name?: string
  /** A piece of the arguments' JSON text. */
  arguments?: string
}

/** Best tokens of each position, best first; `tokenIds[i][k]` has `logprobs[i][k]`. */
export interface TopTokens {
  tokenIds: number[][]
  logprobs: number[][]
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
  /** When `topLogprobs` was asked for and the server tells ids. */
  top?: TopTokens
}

export interface TokenCompletions {
  /** `n` of them, in order. */
  choices: TokenCompletion[]
  logprobsMode: LogprobsMode
  /**
   * Wire names of the options under which `logprobsMode` matters ("temperature", "top_p", …); empty when the
   * request sampled plainly, where all modes agree.
   */
  departures: readonly string[]
  usage: Usage
}

export interface Usage {
  promptTokens: number
  completionTokens: number
  cachedTokens?: number
  reasoningTokens?: number
}

/** A message in the words of the OpenAI chat API; templates see these names, so they are kept. */
export type InferenceMessage = ChatMessage

export interface ToolCall {
  id: string
  name: string
  /** JSON text, as the model or its server wrote it. */
  arguments: string
}

export type ReasoningEffort = "none" | "minimal" | "low" | "medium" | "high" | "xhigh"

export interface ReasoningOptions {
  effort?: ReasoningEffort
  /** Budget of reasoning tokens; not sent beside an effort. */
  maxTokens?: number
}

export interface ChatRequest {
  messages: readonly InferenceMessage[]
  /** Tools in the words of the OpenAI chat API. */
  tools?: readonly unknown[]
  /** In the words of the OpenAI chat API too. */
  toolChoice?: unknown
  /** For a server's own rendering of the chat template. */
  templateOptions?: Readonly<Record<string, unknown>>
  /** Without `maxTokens` the server decides. */
  sampling?: Partial<SamplingOptions>
  /** Asks for logprobs, and for exact ids where the server has them. @default false */
  logprobs?: boolean
  /** Leaves out the server's configured reasoning options. @default false */
  skipReasoning?: boolean
}

/** The logprob of one sampled token by its text, as servers without ids report it. */
export interface TextLogprob {
  token: string
  /** UTF-8 bytes of the token; null where the server does not say. */
  bytes: readonly number[] | null
  /** NaN for the first token of an echoed prompt, which has none. */
  logprob: number
  top: readonly { token: string; bytes: readonly number[] | null; logprob: number }[]
}

export interface ChatCompletion {
  text: string
  /** Text of the reasoning where the server splits it off. */
  reasoning?: string
  toolCalls: ToolCall[]
  finishReason: FinishReason
  /** What was sampled, when the server reports ids: the record, and exact. */
  tokenIds?: number[]
  /** One a sampled id, when both are reported. */
  logprobs?: number[]
  /** By text, in place of `logprobs`, where the server has no ids. */
  textLogprobs?: TextLogprob[]
  versions: VersionSpan[]
}

export interface ChatCompletions {
  choices: ChatCompletion[]
  /** The prompt as the server tokenized it, where it says. */
  promptTokenIds?: number[]
  logprobsMode: LogprobsMode
  departures: readonly string[]
  usage: Usage
}

export interface PromptLogprobs {
  /** Logprob of each prompt token after those before it; null for the first. */
  logprobs: (number | null)[]
  /** The best `topK` of each position, empty for the first. */
  top: TopTokens
}

export interface CallOptions {
  signal?: AbortSignal
  /** @default the server's timeout */
  timeoutMs?: number
}

/** One inference server, or a pool of them. All calls reject with an AtroposError that carries the server's own message and `retryable`. */
export interface InferenceServer {
  readonly name: string
  readonly baseUrl: string
  /** Samples from a prompt of token ids (a session's are `TokenIds`) and reports exact ids and logprobs. */
  completeTokens(prompt: TokenIdList, sampling: SamplingOptions, options?: RequestOptions): Promise<TokenCompletions>
  /** Asks for the next message of a conversation; the server applies its chat template. Takes image parts where it can. */
  chat(request: ChatRequest, options?: RequestOptions): Promise<ChatCompletions>
  /** Continues a text; token ids and logprobs of the answers as in chat. */
  complete(prompt: string, sampling: SamplingOptions, options?: RequestOptions): Promise<ChatCompletions>
  /** Scores a prompt: its own tokens and the `topK` best of each position (distillation), at temperature 1. */
  promptLogprobs(
    prompt: readonly number[],
    topK: number,
    options?: Omit<RequestOptions, "onDelta">,
  ): Promise<PromptLogprobs>
  /** Resolves when the server answers as healthy, by its cheapest route; rejects otherwise. */
  health(options?: { signal?: AbortSignal }): Promise<void>
  /** Weight updates so far, or undefined where the server does not say. */
  policyVersion(options?: { signal?: AbortSignal }): Promise<number | undefined>
  /** Drops idle connections. Safe to call twice. */
  close(): Promise<void>
}
