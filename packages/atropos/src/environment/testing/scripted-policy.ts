import type { TokenIdList } from "../../chat/token-ids.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type {
  ChatCompletions,
  ChatRequest,
  InferenceMessage,
  InferenceServer,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletions,
} from "../../inference/inference-server.ts"

/** One call to a scripted policy. */
export interface ScriptedCall {
  /** The prompt as text; of a chat, its messages' contents one after the other. */
  prompt: string
  /** The messages, where the call was a chat. */
  messages?: readonly InferenceMessage[]
  /** Counts all calls, from 0. */
  index: number
  /** Counts the calls of one session, from 0. */
  turn: number
  /** Whose session it was: `policy`, or another agent's name. */
  agent: string
  sampling: Partial<SamplingOptions>
  split: "train" | "eval"
}

export interface ScriptedPolicyOptions {
  tokenizer: Tokenizer
  /** The text of the answer, or an error to fail with. */
  answer: (call: ScriptedCall) => string | Error | Promise<string | Error>
  /** The version of the weights that answers say. @default 0 */
  version?: number
}

type BareCall = Omit<ScriptedCall, "index" | "turn" | "agent">

/** An inference server whose answers a function gives, and that keeps what it was asked. */
export class ScriptedPolicy implements InferenceServer {
  readonly name = "scripted policy"
  readonly baseUrl = "http://scripted.invalid/v1"
  readonly calls: ScriptedCall[]
  readonly #options: ScriptedPolicyOptions
  readonly #agent: string
  #turns = 0

  constructor(options: ScriptedPolicyOptions, session: { agent?: string; calls?: ScriptedCall[] } = {}) {
    this.#options = options
    this.#agent = session.agent ?? "policy"
    this.calls = session.calls ?? []
  }

  /** The same policy for one session, whose calls are counted as its turns. */
  forSession(agent: string): ScriptedPolicy {
    return new ScriptedPolicy(this.#options, { agent, calls: this.calls })
  }

  async completeTokens(
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    const { tokenizer, version = 0 } = this.#options
    const choices = []
    let completionTokens = 0
    for (let choice = 0; choice < (sampling.n ?? 1); choice++) {
      const text = await this.#answer(
        { prompt: tokenizer.decode(prompt), sampling, ...splitOf(options) },
        options.signal,
      )
      const whole = [...tokenizer.encode(text), ...(tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId])]
      const tokenIds = whole.slice(0, sampling.maxTokens)
      const cut = tokenIds.length < whole.length
      completionTokens += tokenIds.length
      choices.push({
        tokenIds,
        logprobs: tokenIds.map(() => -0.5),
        text: cut ? tokenizer.decode(tokenIds) : text,
        finishReason: cut ? ("length" as const) : ("stop" as const),
        versions: [{ version, start: 0, end: tokenIds.length }],
      })
    }
    return { choices, logprobsMode: "raw", departures: [], usage: { promptTokens: prompt.length, completionTokens } }
  }

  async chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    const { messages, sampling = {} } = request
    const prompt = messages
      .map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)))
      .join("\n")
    return this.#texts({ prompt, messages, sampling, ...splitOf(options) }, options.signal)
  }

  async complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    return this.#texts({ prompt, sampling, ...splitOf(options) }, options.signal)
  }

  promptLogprobs(): Promise<PromptLogprobs> {
    throw new AtroposError("inference-unsupported", "the scripted policy scores no prompts")
  }

  async health(): Promise<void> {}

  async policyVersion(): Promise<number> {
    return this.#options.version ?? 0
  }

  async close(): Promise<void> {}

  async #texts(call: BareCall, signal: AbortSignal | undefined): Promise<ChatCompletions> {
    const choices = []
    for (let choice = 0; choice < (call.sampling.n ?? 1); choice++) {
      const text = await this.#answer(call, signal)
      choices.push({ text, toolCalls: [], finishReason: "stop" as const, versions: [] })
    }
    return { choices, logprobsMode: "raw", departures: [], usage: { promptTokens: 0, completionTokens: 0 } }
  }

  async #answer(call: BareCall, signal: AbortSignal | undefined): Promise<string> {
    signal?.throwIfAborted()
    const counted = { ...call, index: this.calls.length, turn: this.#turns++, agent: this.#agent }
    this.calls.push(counted)
    const answer = await this.#options.answer(counted)
    signal?.throwIfAborted()
    if (answer instanceof Error) throw answer
    return answer
  }
}

function splitOf({ split = "train" }: RequestOptions): { split: "train" | "eval" } {
  return { split }
}
