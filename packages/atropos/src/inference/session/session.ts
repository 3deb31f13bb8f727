import type { BranchReason, Fidelity } from "../../chat/bridge/bridge.ts"
import type { SharedPolicy } from "../../chat/bridge/training-paths.ts"
import type { ChatTool } from "../../chat/messages.ts"
import type { TemplateInput } from "../../chat/template/values/convert.ts"
import type { FinishReason, InferenceMessage, LogprobsMode, Usage, VersionSpan } from "../inference-server.ts"
import type { AnswerPart } from "./growing-answer.ts"

/** Whether an answer may, must not or has to call a tool, in the words of the OpenAI chat API. */
export type ToolChoice = "auto" | "none" | "required" | { type: "function"; function: { name: string } }

/** What one call to the policy may set; what is left out is the session's. */
export interface CallOptions {
  /** Upper bound of sampled tokens; what the context leaves counts when that is less. */
  maxTokens?: number
  temperature?: number
  topP?: number
  topK?: number
  minP?: number
  stop?: readonly string[]
  /**
   * Tools in the words of the OpenAI chat API; calls in the answer stand in its message's `tool_calls`.
   * Null takes the session's tools away for this call.
   */
  tools?: readonly ChatTool[] | null
  /**
   * `none` leaves calls in the text. `required` and a named function do not constrain what the policy samples: the
   * answer's `toolChoiceMet` tells whether it did as it was asked. @default "auto"
   */
  toolChoice?: ToolChoice
  /** Variables that the chat template reads, such as `enable_thinking`; they replace the session's. */
  templateOptions?: Readonly<Record<string, TemplateInput>>
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
  /** One a sampled token, natural log; none in a session that is not exact. */
  logprobs: readonly number[]
  /** Whether it calls what `toolChoice` asked for; only where that was `required` or a named function. */
  toolChoiceMet?: boolean
}

/**
 * A piece of an answer as it arrives. All `text` together is the content of the answer's message, all `reasoning` its
 * thought, each `tool-call` one of its calls; `end` comes last, once, and has the answer as it was recorded.
 */
export type AnswerDelta = AnswerPart | { type: "end"; answer: Answer; finishReason: FinishReason; usage: Usage }

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
  /** The sampled token's logprob where it is trained on, else 1.0; undefined where a session is not exact. */
  logprobs: number[] | undefined
  answers: AnswerSpan[]
  versions: VersionSpan[]
  sampledWith: SampledWith
  /** The conversation, when the session's calls were chats. */
  messages: InferenceMessage[] | undefined
  /** How the last answer ended. */
  finishReason: FinishReason
  /** False where the tokens are a tokenizer's reading of a provider's text, and not what was sampled. */
  exact: boolean
}

/** What became of a session's calls. */
export interface SessionCounts {
  calls: number
  /** Calls that went on from an earlier sample, and how well the template agreed with it. */
  extends: number
  fidelity: Partial<Record<Fidelity, number>>
  /** Calls that began a new sequence though the session had samples, by reason. */
  branches: number
  reasons: Partial<Record<BranchReason, number>>
}

export interface SequenceOptions {
  /** @default the session's */
  shared?: SharedPolicy
  /** One sequence a leaf, or one an answer in which only that answer is trained on. @default "leaf" */
  per?: "leaf" | "answer"
}

/** The record of one rollout's calls to the policy: exact ids, logprobs and masks. */
export interface Session extends AsyncDisposable {
  /** Whether the record holds the very tokens that were sampled. */
  readonly exact: boolean
  readonly counts: SessionCounts
  /** Samples the next message of a conversation. */
  chat(messages: readonly InferenceMessage[], options?: CallOptions): Promise<Answer>
  /** Samples `n` next messages of a conversation; each is an answer of its own that can be gone on from. */
  chatChoices(messages: readonly InferenceMessage[], n: number, options?: CallOptions): Promise<Answer[]>
  /**
   * `chat` in pieces as they come. The call is made when the first piece is asked for, and recorded when its `end` is:
   * one that fails, is aborted or that nobody reads to its end is not recorded at all.
   */
  chatStream(messages: readonly InferenceMessage[], options?: CallOptions): AsyncIterableIterator<AnswerDelta>
  /** Samples the continuation of a raw prompt: a text, or token ids. */
  complete(prompt: string | readonly number[], options?: CallOptions): Promise<Answer>
  /** `complete` in pieces, as `chatStream`. */
  completeStream(prompt: string | readonly number[], options?: CallOptions): AsyncIterableIterator<AnswerDelta>
  /** Samples `n` continuations of a raw prompt. */
  completeChoices(prompt: string | readonly number[], n: number, options?: CallOptions): Promise<Answer[]>
  /** What the calls so far amount to as training sequences. */
  sequences(options?: SequenceOptions): SessionSequence[]
  /** Ends the session: calls that wait are aborted, later ones are refused; the record can still be read. */
  close(): Promise<void>
}
