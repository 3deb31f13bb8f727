import type { FunctionTool } from "../../chat/tool-calls/tool-call.ts"
import type { FinishReason, InferenceMessage, LogprobsMode, VersionSpan } from "../inference-server.ts"

/** What one call to the policy may set; what is left out is the session's. */
export interface CallOptions {
  /** Upper bound of sampled tokens; what the context leaves counts when that is less. */
  maxTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  minP?: number
  stop?: readonly string[]
  /** Tools in the words of the OpenAI chat API; calls in the answer stand in its message's `tool_calls`. */
  tools?: readonly FunctionTool[]
  signal?: AbortSignal
}

/** One sampled answer. */
export interface Answer {
  /** Its place among the session's answers, from 0. */
  index: number
  /** The sampled text without the token that ended it. */
  text: string
  message: InferenceMessage
  finishReason: FinishReason
  tokenIds: readonly number[]
  /** One a sampled token, natural log. */
  logprobs: readonly number[]
}

/** Tokens `start` (included) to `end` (excluded) of a sequence are what the policy sampled as answer `answer`. */
export interface AnswerSpan {
  answer: number
  start: number
  end: number
}

/** How a sequence's answers were sampled; a field on which they differ is left out. */
export interface SampledWith {
  temperature?: number
  topP?: number
  topK?: number
  logprobsMode?: LogprobsMode
}

/** One training sequence: every array but `answers` and `versions` has one entry a token. */
export interface SessionSequence {
  tokens: number[]
  /** The token's id where it is trained on, else -100. */
  masks: number[]
  /** The sampled token's logprob where it is trained on, else 1.0. */
  logprobs: number[]
  answers: AnswerSpan[]
  versions: VersionSpan[]
  sampledWith: SampledWith
  /** The conversation, when the session's calls were chats. */
  messages: InferenceMessage[] | undefined
  /** How the last answer ended. */
  finishReason: FinishReason
}

/** The record of one rollout's calls to the policy: exact ids, logprobs and masks. */
export interface Session {
  /** Samples the next message of a conversation. */
  chat(messages: readonly InferenceMessage[], options?: CallOptions): Promise<Answer>
  /** Samples the continuation of a raw prompt: a text, or token ids. */
  complete(prompt: string | readonly number[], options?: CallOptions): Promise<Answer>
  /** What the calls so far amount to as training sequences. */
  sequences(): SessionSequence[]
}
