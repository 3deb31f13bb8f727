import type { Tokenizer } from "../../chat/tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { InferenceMessage, InferenceServer, TokenCompletion } from "../inference-server.ts"
import type { Answer, CallOptions, SampledWith, Session, SessionSequence } from "./session.ts"

export interface SessionOptions {
  server: Pick<InferenceServer, "completeTokens" | "name">
  tokenizer: Tokenizer
  /** Default of `maxTokens`. */
  maxTokens: number
  /** Longest sequence that may come about, prompt and answer together. @default no limit */
  contextTokens?: number
  split?: "train" | "eval"
  signal?: AbortSignal
  /** The sampling seed of the call with this index; undefined leaves it to the server. */
  seedOf?: (call: number) => number | undefined
  /** Defaults of the calls' sampling. */
  sampling?: Omit<CallOptions, "signal" | "tools">
  /** Text of a conversation with an open assistant turn, as the tokenizer's chat template gives it. */
  render: (messages: readonly InferenceMessage[]) => string
}

/** A session in which every call is a sequence of its own. */
export class SingleTurnSession implements Session {
  readonly #options: SessionOptions
  readonly #sequences: SessionSequence[] = []

  constructor(options: SessionOptions) {
    this.#options = options
  }

  async chat(messages: readonly InferenceMessage[], options: CallOptions = {}): Promise<Answer> {
    const prompt = this.#options.tokenizer.encode(this.#options.render(messages))
    const { answer, sequence } = await this.#call(prompt, options)
    sequence.messages = [...messages, answer.message]
    return answer
  }

  async complete(prompt: string | readonly number[], options: CallOptions = {}): Promise<Answer> {
    const ids = typeof prompt === "string" ? this.#options.tokenizer.encode(prompt) : prompt
    return (await this.#call(ids, options)).answer
  }

  sequences(): SessionSequence[] {
    return this.#sequences
  }

  async #call(prompt: readonly number[], call: CallOptions): Promise<{ answer: Answer; sequence: SessionSequence }> {
    const { server, seedOf, split, contextTokens } = this.#options
    const options = { ...this.#options.sampling, ...call }
    const room = (contextTokens ?? Number.POSITIVE_INFINITY) - prompt.length
    const wanted = options.maxTokens ?? this.#options.maxTokens
    if (room < 1) {
      throw new AtroposError(
        "no-room",
        `the prompt has ${prompt.length} tokens and a sequence may have ${contextTokens}: nothing is left for an answer`,
      )
    }
    const seed = seedOf?.(this.#sequences.length)
    const signals = [this.#options.signal, call.signal].filter((signal) => signal !== undefined)
    const { signal: _signal, tools: _tools, ...sampling } = options
    const completions = await server.completeTokens(
      prompt,
      { ...sampling, maxTokens: Math.min(wanted, room), ...(seed === undefined ? {} : { seed }) },
      {
        ...(split === undefined ? {} : { split }),
        ...(signals.length === 0 ? {} : { signal: AbortSignal.any(signals) }),
      },
    )
    const completion = completions.choices[0]
    if (completion === undefined) {
      throw new AtroposError("inference-request", `${server.name} answered without a choice`, { retryable: true })
    }
    return this.#record(prompt, completion, {
      temperature: sampling.temperature ?? 1,
      topP: sampling.topP ?? 1,
      topK: sampling.topK ?? 0,
      logprobsMode: completions.logprobsMode,
    })
  }

  #record(
    prompt: readonly number[],
    completion: TokenCompletion,
    sampledWith: SampledWith,
  ): { answer: Answer; sequence: SessionSequence } {
    const { tokenIds, logprobs, text, finishReason } = completion
    const index = this.#sequences.length
    const start = prompt.length
    const sequence: SessionSequence = {
      tokens: [...prompt, ...tokenIds],
      masks: [...prompt.map(() => -100), ...tokenIds],
      logprobs: [...prompt.map(() => 1), ...logprobs],
      answers: [{ answer: index, start, end: start + tokenIds.length }],
      versions: completion.versions.map((span) => ({ ...span, start: span.start + start, end: span.end + start })),
      sampledWith,
      messages: undefined,
      finishReason,
    }
    this.#sequences.push(sequence)
    const message: InferenceMessage = { role: "assistant", content: text }
    return { answer: { index, text, message, finishReason, tokenIds, logprobs }, sequence }
  }
}
