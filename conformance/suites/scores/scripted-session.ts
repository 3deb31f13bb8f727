import type { InferenceMessage } from "../../../packages/atropos/src/inference/inference-server.ts"
import type {
  Answer,
  CallOptions,
  Session,
  SessionSequence,
} from "../../../packages/atropos/src/inference/session/session.ts"
import type { RowRollout } from "./row.ts"

/** One call to the policy as an environment made it. */
export interface RecordedCall {
  kind: "chat" | "completion"
  messages: readonly InferenceMessage[]
  options: CallOptions
}

/** Roles and ends by the code-point tokenizer: each code point is one token. */
const roleTokens: Readonly<Record<string, number>> = { system: 1, user: 2, assistant: 3, tool: 4 }
const endToken = 5
const firstCodePoint = 100

/**
 * A session that answers with a row's reply. Its sequence has as many tokens as the row says, or else those of the
 * code-point tokenizer, with the end token where the reply was not cut.
 */
export class ScriptedSession implements Session {
  readonly exact = true
  readonly counts = { calls: 0, extends: 0, fidelity: {}, branches: 0, reasons: {} }
  readonly calls: RecordedCall[] = []
  private readonly reply: RowRollout
  private readonly made: SessionSequence[] = []

  constructor(reply: RowRollout) {
    this.reply = reply
  }

  chat(messages: readonly InferenceMessage[], options: CallOptions = {}): Promise<Answer> {
    this.calls.push({ kind: "chat", messages, options })
    return Promise.resolve(this.answer(messages))
  }

  complete(prompt: string | readonly number[], options: CallOptions = {}): Promise<Answer> {
    const messages: InferenceMessage[] = [{ role: "user", content: typeof prompt === "string" ? prompt : "" }]
    this.calls.push({ kind: "completion", messages, options })
    return Promise.resolve(this.answer(messages))
  }

  async chatChoices(messages: readonly InferenceMessage[], n: number, options?: CallOptions): Promise<Answer[]> {
    return Promise.all(Array.from({ length: n }, () => this.chat(messages, options)))
  }

  async completeChoices(prompt: string | readonly number[], n: number, options?: CallOptions): Promise<Answer[]> {
    return Promise.all(Array.from({ length: n }, () => this.complete(prompt, options)))
  }

  chatStream(): never {
    throw new Error("rows have whole answers")
  }

  completeStream(): never {
    throw new Error("rows have whole answers")
  }

  sequences(): SessionSequence[] {
    return this.made
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  private answer(messages: readonly InferenceMessage[]): Answer {
    const { text, finish_reason: finishReason } = this.reply
    const prompt =
      this.reply.prompt_tokens === undefined ? promptTokens(messages) : filled(this.reply.prompt_tokens, firstCodePoint)
    const tokenIds =
      this.reply.completion_tokens === undefined
        ? [...codePoints(text), ...(finishReason === "stop" ? [endToken] : [])]
        : filled(this.reply.completion_tokens, firstCodePoint + 1)
    const message: InferenceMessage = { role: "assistant", content: text }
    const index = this.made.length
    this.made.push({
      tokens: [...prompt, ...tokenIds],
      masks: [...prompt.map(() => -100), ...tokenIds],
      logprobs: [...prompt.map(() => 1), ...tokenIds.map(() => -0.5)],
      answers: [{ answer: index, start: prompt.length, end: prompt.length + tokenIds.length }],
      versions: [],
      sampledWith: {},
      messages: [...messages, message],
      finishReason,
      exact: true,
    })
    return { index, text, message, finishReason, tokenIds, logprobs: tokenIds.map(() => -0.5) }
  }
}

function filled(count: number, token: number): number[] {
  return Array.from({ length: count }, () => token)
}

function codePoints(text: string): number[] {
  return Array.from(text, (character) => firstCodePoint + (character.codePointAt(0) ?? 0))
}

function promptTokens(messages: readonly InferenceMessage[]): number[] {
  const spelled = messages.flatMap(({ role, content }) => [
    roleTokens[role] ?? 2,
    ...codePoints(typeof content === "string" ? content : ""),
    endToken,
  ])
  return [...spelled, roleTokens["assistant"] ?? 3]
}
