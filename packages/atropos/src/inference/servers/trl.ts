import { AtroposError } from "../../runtime/errors.ts"
import type { TokenIdList } from "../../chat/token-ids.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import type {
  CallOptions,
  ChatCompletion,
  ChatCompletions,
  ChatRequest,
  FinishReason,
  InferenceServer,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletions,
  TopTokens,
} from "../inference-server.ts"
import { resolveSampling, samplingDepartures } from "../sampling.ts"
import type { JsonObject } from "../transport/read.ts"
import { probeTimeoutMs, ServerConnection } from "./connection.ts"
import { decodeAnswer, endsAnswer } from "./decode-answer.ts"
import type { ServerOptions } from "./server-config.ts"

/**
 * TRL's own server, up to 1.10 (later ones start stock vLLM). It answers ids and logprobs and nothing else: text and
 * finish reasons come from the tokenizer. Options it does not know kill its worker for good, so none are passed on.
 */
export class TrlServer implements InferenceServer {
  readonly name: string
  readonly baseUrl: string
  readonly #connection: ServerConnection
  readonly #tokenizer: Tokenizer

  constructor(options: ServerOptions) {
    this.#connection = new ServerConnection("TRL", options)
    this.baseUrl = options.baseUrl
    this.name = this.#connection.name
    if (options.tokenizer === undefined) {
      throw new AtroposError("bad-option", `${this.name} answers token ids only: give tokenizer_name, received none`)
    }
    this.#tokenizer = options.tokenizer
  }

  async completeTokens(
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    this.#connection.checkPrompt(prompt)
    const body = await this.#ask("/generate/", { prompts: [prompt] }, sampling, options)
    return this.#readCompletions(body, sampling, options)
  }

  async chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    if (request.messages.some(({ content }) => Array.isArray(content) && content.some(({ type }) => type !== "text"))) {
      throw this.#connection.unsupported("takes text messages only", "images need vLLM or SGLang")
    }
    const fields = {
      messages: [request.messages],
      chat_template_kwargs: request.templateOptions ?? {},
      tools: request.tools ?? null,
    }
    // The server's own default is 16 tokens, which nobody means in a chat.
    return this.#askAsChat("/chat/", fields, { maxTokens: 1024, ...request.sampling }, options)
  }

  complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    return this.#askAsChat("/generate/", { prompts: [prompt] }, sampling, options)
  }

  async promptLogprobs(
    prompt: readonly number[],
    topK: number,
    options: Omit<RequestOptions, "onDelta"> = {},
  ): Promise<PromptLogprobs> {
    const { reader } = this.#connection
    this.#connection.checkPrompt(prompt)
    const body = await this.#connection.ask(
      this.#connection.own("/get_sequence_logprobs/"),
      { sequences: [prompt], prompt_lengths: [1], top_logprobs: topK, temperature: 1, response_format: "json" },
      options.signal,
    )
    const [values] = reader.array(body["logprobs"], "logprobs")
    const [ids] = reader.array(body["logprob_token_ids"], "logprob_token_ids")
    const positions = readRanked(
      reader.array(values, "logprobs[]"),
      reader.array(ids, "logprob_token_ids[]"),
      this.#read,
    )
    const own = prompt.slice(1).map((id, index) => positions[index]?.find((entry) => entry.id === id)?.logprob)
    if (own.some((logprob) => logprob === undefined) || positions.length !== prompt.length - 1) {
      throw reader.unreadable("logprobs", `${prompt.length - 1} positions with the prompt's own tokens`, values)
    }
    const best = positions.map((entries) => entries.slice(0, topK))
    const top: TopTokens = {
      tokenIds: [[], ...best.map((entries) => entries.flatMap(({ id }) => (id === undefined ? [] : [id])))],
      logprobs: [[], ...best.map((entries) => entries.map(({ logprob }) => logprob))],
    }
    return { logprobs: [null, ...own.map((logprob) => logprob ?? null)], top }
  }

  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#connection.transport.text({
      url: this.#connection.own("/health/"),
      signal: options.signal,
      timeoutMs: probeTimeoutMs,
    })
  }

  policyVersion(): Promise<undefined> {
    return Promise.resolve(undefined)
  }

  call(method: "GET" | "POST", path: string, body?: unknown, options: CallOptions = {}): Promise<unknown> {
    return this.#connection.call(method, path, body, options)
  }

  close(): Promise<void> {
    return this.#connection.transport.close()
  }

  readonly #read = (value: unknown, what: string): number => this.#connection.reader.number(value, what)

  async #askAsChat(
    path: string,
    fields: JsonObject,
    sampling: SamplingOptions,
    options: RequestOptions,
  ): Promise<ChatCompletions> {
    const { reader } = this.#connection
    const body = await this.#ask(path, fields, sampling, options)
    const { choices, ...said } = this.#readCompletions(body, sampling, options)
    const prompts = body["prompt_ids"]
    return {
      ...said,
      choices: choices.map(({ tokenIds, logprobs, text, finishReason, versions }): ChatCompletion => {
        return { text, toolCalls: [], finishReason, tokenIds, logprobs, versions }
      }),
      ...(Array.isArray(prompts) ? { promptTokenIds: reader.numbers(prompts[0], "prompt_ids[]") } : {}),
    }
  }

  #ask(path: string, fields: JsonObject, options: SamplingOptions, request: RequestOptions): Promise<JsonObject> {
    const sampling = resolveSampling(options)
    const { rest } = sampling
    const { structured_outputs_regex: regex, ...unknown } = rest.extra ?? {}
    const refused = [...(rest.logitBias === undefined ? [] : ["logit_bias"]), ...Object.keys(unknown)]
    if (refused.length > 0) {
      throw this.#connection.unsupported(`cannot take ${refused.join(", ")}`, "leave it out: it would kill the server")
    }
    const further = {
      ...(rest.seed === undefined ? {} : { seed: rest.seed }),
      ...(rest.stop === undefined ? {} : { stop: rest.stop }),
      ...(rest.stopTokenIds === undefined ? {} : { stop_token_ids: rest.stopTokenIds }),
      ...(rest.minTokens === undefined ? {} : { min_tokens: rest.minTokens }),
      ...(rest.ignoreEos === undefined ? {} : { ignore_eos: rest.ignoreEos }),
      ...(sampling.presencePenalty === 0 ? {} : { presence_penalty: sampling.presencePenalty }),
      ...(sampling.frequencyPenalty === 0 ? {} : { frequency_penalty: sampling.frequencyPenalty }),
    }
    const body = {
      ...fields,
      n: sampling.n,
      repetition_penalty: sampling.repetitionPenalty,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      top_k: sampling.topK > 0 ? sampling.topK : -1,
      min_p: sampling.minP,
      max_tokens: sampling.maxTokens,
      logprobs: sampling.topLogprobs,
      generation_kwargs: further,
      ...(regex === undefined ? {} : { structured_outputs_regex: regex }),
    }
    return this.#connection.ask(this.#connection.own(path), body, request.signal)
  }

  #readCompletions(body: JsonObject, sampling: SamplingOptions, options: RequestOptions): TokenCompletions {
    const { reader } = this.#connection
    const values = reader.array(body["logprobs"], "logprobs")
    const listed = Array.isArray(body["logprob_token_ids"]) ? body["logprob_token_ids"] : []
    const choices = reader.array(body["completion_ids"], "completion_ids").map((ids, index) => {
      const tokenIds = reader.numbers(ids, "completion_ids[]")
      const positions = reader.array(values[index], "logprobs[]")
      const ranked = readRanked(positions, Array.isArray(listed[index]) ? listed[index] : [], this.#read)
      const logprobs = tokenIds.map((id, position) => {
        const entries = ranked[position] ?? []
        // Older servers list one number a position and no ids: it is the sampled token's.
        const own = entries.find((entry) => entry.id === id) ?? (entries.length === 1 ? entries[0] : undefined)
        return this.#read(own?.logprob, `logprobs[][] of the sampled id ${id}`)
      })
      const finishReason = this.#finishReason(tokenIds, sampling)
      const text = decodeAnswer(this.#tokenizer, tokenIds, sampling)
      options.onDelta?.({ choice: index, text, tokenIds, logprobs, finishReason })
      return { tokenIds, logprobs, text, finishReason, versions: [] }
    })
    const prompts = Array.isArray(body["prompt_ids"]) ? body["prompt_ids"] : []
    const count = (lists: readonly unknown[]): number =>
      lists.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0)
    return {
      choices,
      logprobsMode: this.#connection.options.logprobsMode ?? "processed",
      departures: samplingDepartures(sampling),
      usage: { promptTokens: count(prompts), completionTokens: count(choices.map(({ tokenIds }) => tokenIds)) },
    }
  }

  #finishReason(ids: readonly number[], sampling: SamplingOptions): FinishReason {
    return endsAnswer(this.#tokenizer, ids.at(-1), sampling) || ids.length < sampling.maxTokens ? "stop" : "length"
  }
}

/** `[position][k]` of logprobs and ids, best first; also `[position]` of older servers. */
function readRanked(
  positions: readonly unknown[],
  ids: readonly unknown[],
  read: (value: unknown, what: string) => number,
): { id: number | undefined; logprob: number }[][] {
  return positions.map((position, index) => {
    const own: unknown = ids[index]
    if (!Array.isArray(position)) return [{ id: undefined, logprob: read(position, "logprobs[][]") }]
    return position.map((logprob, k) => {
      const id: unknown = Array.isArray(own) ? own[k] : undefined
      return { id: typeof id === "number" ? id : undefined, logprob: read(logprob, "logprobs[][][]") }
    })
  })
}
