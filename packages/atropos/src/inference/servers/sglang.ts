import type { TokenIdList } from "../../chat/token-ids.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type {
  CallOptions,
  ChatCompletions,
  ChatRequest,
  InferenceServer,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletion,
  TokenCompletions,
  TopTokens,
  Usage,
} from "../inference-server.ts"
import { resolveSampling, samplingDepartures } from "../sampling.ts"
import { isRetryableStatus } from "../transport/server-error.ts"
import { isObject, numberOr, textOr, type JsonObject } from "../transport/read.ts"
import { readVersionSpans, versionNumber } from "../versions.ts"
import { ServerConnection } from "./connection.ts"
import { readFinishReason } from "./finish-reason.ts"
import { readChatAnswer } from "./openai-answers.ts"
import { chatFields, chatSampling } from "./openai-bodies.ts"
import type { ServerOptions } from "./server-config.ts"
import { SglangStream } from "./sglang-stream.ts"

/** A stock SGLang server. Its logprobs are taken after temperature, bias and grammar. */
export class SglangServer implements InferenceServer {
  readonly name: string
  readonly baseUrl: string
  readonly #connection: ServerConnection

  constructor(options: ServerOptions) {
    this.#connection = new ServerConnection("SGLang", options)
    this.baseUrl = options.baseUrl
    this.name = this.#connection.name
  }

  async completeTokens(
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    this.#connection.checkPrompt(prompt)
    const answers = await this.#generate({ input_ids: prompt }, sampling, options)
    return {
      choices: answers.map((answer) => this.#readCompletion(answer)),
      ...this.#said(sampling),
      usage: this.#readUsage(answers),
    }
  }

  async chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    const { reader, options: server } = this.#connection
    const sampling = request.sampling ?? {}
    const exact = request.logprobs === true
    const body = {
      model: server.model,
      ...chatFields(request),
      ...switchedOffTopK(chatSampling(sampling, options)),
      ...(exact
        ? {
            logprobs: true,
            top_logprobs: sampling.topLogprobs ?? 0,
            return_token_ids: true,
            return_prompt_token_ids: true,
          }
        : {}),
      ...sampling.extra,
    }
    const url = this.#connection.own("/v1/chat/completions")
    // This route tells ids only in answers that come whole.
    const { onDelta, ...unstreamed } = options
    const answer = await this.#connection.askOpenAi(url, body, exact ? unstreamed : options)
    const read = readChatAnswer(reader, answer, this.#said(sampling))
    if (!exact) return read
    if (read.choices.some((choice) => choice.tokenIds === undefined || choice.logprobs === undefined)) {
      throw reader.unreadable("choices[].response_token_ids", "a list", undefined, "token ids need SGLang 0.5.18")
    }
    read.choices.forEach(({ text, reasoning, toolCalls, tokenIds, logprobs, finishReason }, choice) =>
      onDelta?.({
        choice,
        text,
        ...(reasoning === undefined ? {} : { reasoning }),
        toolCalls: toolCalls.map((call, index) => ({ index, ...call })),
        ...(tokenIds === undefined ? {} : { tokenIds }),
        ...(logprobs === undefined ? {} : { logprobs }),
        finishReason,
      }),
    )
    return read
  }

  async complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    const answers = await this.#generate({ text: prompt }, sampling, options)
    const choices = answers.map((answer) => {
      const { tokenIds, logprobs, text, finishReason, versions } = this.#readAnswer(answer)
      return { text, toolCalls: [], finishReason, tokenIds, ...(logprobs === undefined ? {} : { logprobs }), versions }
    })
    return { choices, ...this.#said(sampling), usage: this.#readUsage(answers) }
  }

  async promptLogprobs(
    prompt: readonly number[],
    topK: number,
    options: Omit<RequestOptions, "onDelta"> = {},
  ): Promise<PromptLogprobs> {
    const { reader } = this.#connection
    this.#connection.checkPrompt(prompt)
    const score = { maxTokens: 0, topLogprobs: topK, extra: { logprob_start_len: 0 } }
    const [answer] = await this.#generate({ input_ids: prompt }, score, options)
    const meta = reader.object(reader.object(answer, "the answer")["meta_info"], "meta_info")
    const own = reader.array(meta["input_token_logprobs"], "meta_info.input_token_logprobs")
    if (own.length !== prompt.length) {
      throw reader.unreadable("meta_info.input_token_logprobs", `${prompt.length} entries`, own)
    }
    const top = meta["input_top_logprobs"]
    return {
      logprobs: own.map((triple) => (Array.isArray(triple) && typeof triple[0] === "number" ? triple[0] : null)),
      top: readTopTriples(Array.isArray(top) && topK > 0 ? top : own.map(() => [])),
    }
  }

  /** Its `/health` generates a token and fails while paused, so the model's description it is. */
  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#modelInfo(options.signal)
  }

  async policyVersion(options: { signal?: AbortSignal } = {}): Promise<number | undefined> {
    const info = await this.#modelInfo(options.signal)
    return isObject(info) && typeof info["weight_version"] === "string"
      ? versionNumber(info["weight_version"])
      : undefined
  }

  call(method: "GET" | "POST", path: string, body?: unknown, options: CallOptions = {}): Promise<unknown> {
    return this.#connection.call(method, path, body, options)
  }

  close(): Promise<void> {
    return this.#connection.transport.close()
  }

  async #modelInfo(signal: AbortSignal | undefined): Promise<unknown> {
    return (
      (await this.#connection.probe("/model_info", signal)) ?? (await this.#connection.probe("/get_model_info", signal))
    )
  }

  #said(sampling: Partial<SamplingOptions>): Pick<TokenCompletions, "logprobsMode" | "departures"> {
    return {
      logprobsMode: this.#connection.options.logprobsMode ?? "temperature",
      departures: samplingDepartures(sampling),
    }
  }

  async #generate(
    prompt: { input_ids: TokenIdList } | { text: string },
    sampling: SamplingOptions,
    options: Omit<RequestOptions, "onDelta"> & Pick<RequestOptions, "onDelta">,
  ): Promise<JsonObject[]> {
    const { reader, transport } = this.#connection
    const url = this.#connection.own("/generate")
    const body = { ...prompt, ...generateFields(sampling) }
    if (options.onDelta === undefined) {
      const answer = await transport.json({ url, body, signal: options.signal })
      return reader.objects(Array.isArray(answer) ? answer : [answer], "the answers")
    }
    const stream = new SglangStream(options.onDelta)
    for await (const { data } of transport.events({ url, body: { ...body, stream: true }, signal: options.signal })) {
      stream.add(data)
    }
    if (!stream.complete) throw this.#connection.cut()
    return stream.answers()
  }

  #readCompletion(answer: JsonObject): TokenCompletion {
    const { logprobs, ...completion } = this.#readAnswer(answer)
    if (logprobs !== undefined) return { ...completion, logprobs }
    throw this.#connection.reader.unreadable("meta_info.output_token_logprobs", "a list", undefined)
  }

  #readAnswer(answer: JsonObject): Omit<TokenCompletion, "logprobs"> & { logprobs: number[] | undefined } {
    const { reader } = this.#connection
    const meta = reader.object(answer["meta_info"], "meta_info")
    const reason = isObject(meta["finish_reason"]) ? meta["finish_reason"] : {}
    this.#refuseFailure(reason)
    const said = meta["output_token_logprobs"]
    const triples = Array.isArray(said) ? said : undefined
    const at = (triple: unknown, index: number): unknown => (Array.isArray(triple) ? triple[index] : undefined)
    const tokenIds =
      triples?.map((triple) => reader.number(at(triple, 1), "meta_info.output_token_logprobs[][1]")) ??
      reader.numbers(answer["output_ids"], "output_ids")
    const logprobs = triples?.map((triple) => reader.number(at(triple, 0), "meta_info.output_token_logprobs[][0]"))
    const top = meta["output_top_logprobs"]
    return {
      tokenIds,
      logprobs,
      text: textOr(answer["text"], ""),
      finishReason: readFinishReason(reason["type"]),
      versions: Array.isArray(meta["weight_versions"]) ? readVersionSpans(meta["weight_versions"]) : [],
      ...(Array.isArray(top) && top.length > 0 ? { top: readTopTriples(top.slice(0, tokenIds.length)) } : {}),
    }
  }

  /** A full queue or a shutdown comes as an abort with a status of its own. */
  #refuseFailure(reason: JsonObject): void {
    const status = reason["status_code"]
    if (typeof status !== "number" || status < 400) return
    const message = textOr(reason["message"], "(no message)")
    throw new AtroposError("inference-request", `${this.name} answered ${status}: ${message}`, {
      retryable: isRetryableStatus(status),
      facts: { status, serverMessage: message },
    })
  }

  #readUsage(answers: readonly JsonObject[]): Usage {
    const metas = answers.map((answer) => (isObject(answer["meta_info"]) ? answer["meta_info"] : {}))
    return {
      promptTokens: numberOr(metas[0]?.["prompt_tokens"], 0),
      completionTokens: metas.reduce((sum, meta) => sum + numberOr(meta["completion_tokens"], 0), 0),
      cachedTokens: numberOr(metas[0]?.["cached_tokens"], 0),
      reasoningTokens: metas.reduce((sum, meta) => sum + numberOr(meta["reasoning_tokens"], 0), 0),
    }
  }
}

/** What `/generate` takes inside `sampling_params`; there an unknown name is an error. */
const samplingNames = new Set([
  "max_new_tokens",
  "stop",
  "stop_token_ids",
  "stop_regex",
  "temperature",
  "top_p",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "min_new_tokens",
  "n",
  "json_schema",
  "regex",
  "ebnf",
  "structural_tag",
  "ignore_eos",
  "skip_special_tokens",
  "spaces_between_special_tokens",
  "no_stop_trim",
  "stream_interval",
  "logit_bias",
  "sampling_seed",
  "custom_params",
])

/** The request beside its prompt; `extra` fields go where SGLang has them. */
function generateFields(options: SamplingOptions): JsonObject {
  const sampling = resolveSampling(options)
  const { rest } = sampling
  const extra = Object.entries(rest.extra ?? {})
  const inside = extra.filter(([name]) => samplingNames.has(name))
  const beside = extra.filter(([name]) => !samplingNames.has(name))
  return {
    sampling_params: {
      n: sampling.n,
      max_new_tokens: sampling.maxTokens,
      temperature: sampling.temperature,
      top_p: sampling.topP,
      top_k: sampling.topK > 0 ? sampling.topK : -1,
      min_p: sampling.minP,
      repetition_penalty: sampling.repetitionPenalty,
      presence_penalty: sampling.presencePenalty,
      frequency_penalty: sampling.frequencyPenalty,
      ...(rest.stop === undefined ? {} : { stop: rest.stop }),
      ...(rest.stopTokenIds === undefined ? {} : { stop_token_ids: rest.stopTokenIds }),
      ...(rest.minTokens === undefined ? {} : { min_new_tokens: rest.minTokens }),
      ...(rest.ignoreEos === undefined ? {} : { ignore_eos: rest.ignoreEos }),
      ...(rest.logitBias === undefined ? {} : { logit_bias: rest.logitBias }),
      ...(rest.seed === undefined ? {} : { sampling_seed: rest.seed }),
      ...Object.fromEntries(inside),
    },
    return_logprob: true,
    top_logprobs_num: sampling.topLogprobs,
    ...Object.fromEntries(beside),
  }
}

function switchedOffTopK(fields: Record<string, unknown>): Record<string, unknown> {
  return fields["top_k"] === 0 ? { ...fields, top_k: -1 } : fields
}

/** Lists of `[logprob, id, text]`; null for the first token of a prompt. */
function readTopTriples(positions: readonly unknown[]): TopTokens {
  const triples = positions.map((position) =>
    (Array.isArray(position) ? position : []).filter(
      (triple): triple is [number, number] =>
        Array.isArray(triple) && typeof triple[0] === "number" && typeof triple[1] === "number",
    ),
  )
  return {
    tokenIds: triples.map((entries) => entries.map(([, id]) => id)),
    logprobs: triples.map((entries) => entries.map(([logprob]) => logprob)),
  }
}
