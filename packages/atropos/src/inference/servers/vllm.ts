import type { TokenIdList } from "../../chat/token-ids.ts"
import { isAtroposError } from "../../runtime/errors.ts"
import type {
  CallOptions,
  ChatCompletions,
  ChatRequest,
  InferenceServer,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletions,
} from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { isObject, type JsonObject } from "../transport/read.ts"
import { versionNumber } from "../versions.ts"
import { completeAtAtroposVllm, completeTokensAtAtroposVllm } from "./atropos-vllm.ts"
import { probeTimeoutMs, ServerConnection } from "./connection.ts"
import { decodeAnswer } from "./decode-answer.ts"
import { readChatAnswer, readChoices, readPromptLogprobs, readTokenChoice, readUsage } from "./openai-answers.ts"
import { chatFields, chatSampling, namedSampling } from "./openai-bodies.ts"
import type { ServerOptions } from "./server-config.ts"

/** How a server takes token ids: stock vLLM by one of two routes, the original's own server by a third. */
type TokenRoute = "completions" | "spelled-completions" | "generate" | "atropos"

/** A vLLM server: stock (TRL from 1.11 on starts one too), or the original's own around the engine. */
export class VllmServer implements InferenceServer {
  readonly name: string
  readonly baseUrl: string
  readonly #connection: ServerConnection
  #route: Promise<TokenRoute> | undefined

  constructor(options: ServerOptions) {
    this.#connection = new ServerConnection("vLLM", options)
    this.baseUrl = options.baseUrl
    this.name = this.#connection.name
  }

  async completeTokens(
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    const { reader } = this.#connection
    this.#connection.checkPrompt(prompt)
    const route = await this.#tokenRoute(options.signal)
    if (route === "atropos") return completeTokensAtAtroposVllm(this.#connection, prompt, sampling, options)
    const body = await this.#askForTokens(route, prompt, sampling, options)
    const { tokenizer } = this.#connection.options
    const choices = readChoices(reader, body).map((choice) => readTokenChoice(reader, body, choice))
    return {
      choices:
        body["output_mode"] === "tokens" && tokenizer !== undefined
          ? choices.map((choice) => ({ ...choice, text: decodeAnswer(tokenizer, choice.tokenIds, sampling) }))
          : choices,
      ...this.#said(sampling),
      usage: readUsage(body),
    }
  }

  async chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    const { reader } = this.#connection
    const sampling = request.sampling ?? {}
    const body = {
      ...this.#model(),
      ...chatFields(request),
      ...chatSampling(sampling, options),
      ...(request.logprobs
        ? {
            logprobs: true,
            top_logprobs: sampling.topLogprobs ?? 0,
            return_token_ids: true,
            return_weight_versions: true,
          }
        : {}),
      ...sampling.extra,
    }
    const answer = await this.#connection.askOpenAi(this.#connection.own("/v1/chat/completions"), body, options)
    const read = readChatAnswer(reader, answer, this.#said(sampling))
    if (
      request.logprobs &&
      read.choices.some((choice) => choice.tokenIds === undefined || choice.logprobs === undefined)
    ) {
      throw reader.unreadable("choices[].token_ids", "a list", undefined, "token ids need vLLM 0.10.2 or newer")
    }
    return read
  }

  async complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    if ((await this.#tokenRoute(options.signal)) === "atropos") {
      return completeAtAtroposVllm(this.#connection, prompt, sampling, options)
    }
    const body = { prompt, ...this.#completionFields(sampling), return_token_ids: true, ...sampling.extra }
    const answer = await this.#connection.askOpenAi(this.#connection.own("/v1/completions"), body, options)
    return readChatAnswer(this.#connection.reader, answer, this.#said(sampling))
  }

  async promptLogprobs(
    prompt: readonly number[],
    topK: number,
    options: Omit<RequestOptions, "onDelta"> = {},
  ): Promise<PromptLogprobs> {
    const { reader } = this.#connection
    this.#connection.checkPrompt(prompt)
    const route = await this.#tokenRoute(options.signal)
    if (route === "atropos") {
      throw this.#connection.unsupported("answers no prompt logprobs", "score with a stock vLLM server")
    }
    const asked = { maxTokens: 1, extra: { prompt_logprobs: topK } }
    const body = await this.#askForTokens(route, prompt, asked, options)
    const positions = body["prompt_logprobs"] ?? readChoices(reader, body)[0]?.["prompt_logprobs"]
    return readPromptLogprobs(reader, positions, prompt, topK)
  }

  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#connection.transport.text({
      url: this.#connection.own("/health"),
      signal: options.signal,
      timeoutMs: probeTimeoutMs,
    })
  }

  /** Known from 0.27 on and in development mode, as trainers start it. */
  async policyVersion(options: { signal?: AbortSignal } = {}): Promise<number | undefined> {
    const body = await this.#connection.probe("/weight_info", options.signal)
    return isObject(body) && typeof body["weight_version"] === "string"
      ? versionNumber(body["weight_version"])
      : undefined
  }

  /** Whether generation is paused; undefined where the server does not say. */
  async isPaused(options: { signal?: AbortSignal } = {}): Promise<boolean | undefined> {
    const body = await this.#connection.probe("/is_paused", options.signal)
    return isObject(body) && typeof body["is_paused"] === "boolean" ? body["is_paused"] : undefined
  }

  call(method: "GET" | "POST", path: string, body?: unknown, options: CallOptions = {}): Promise<unknown> {
    return this.#connection.call(method, path, body, options)
  }

  close(): Promise<void> {
    return this.#connection.transport.close()
  }

  #said(sampling: Partial<SamplingOptions>): Pick<TokenCompletions, "logprobsMode" | "departures"> {
    return {
      logprobsMode: this.#connection.options.logprobsMode ?? "raw",
      departures: samplingDepartures(sampling),
    }
  }

  /** The configuration's default name is nobody's: without one the server takes its own model. */
  #model(): { model?: string } {
    const { model } = this.#connection.options
    return model === "default" ? {} : { model }
  }

  #completionFields(sampling: SamplingOptions): JsonObject {
    return {
      ...this.#model(),
      ...namedSampling(sampling),
      logprobs: sampling.topLogprobs ?? 0,
      return_weight_versions: true,
    }
  }

  async #askForTokens(
    route: Exclude<TokenRoute, "atropos">,
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions,
  ): Promise<JsonObject> {
    // The route lists alternatives with ids only where it leaves the text to us.
    const needsIds = (sampling.topLogprobs ?? 0) > 0
    if (route === "generate" && (!needsIds || this.#connection.options.tokenizer !== undefined)) {
      try {
        return await this.#generate(prompt, sampling, options)
      } catch (error) {
        if (!isMissingRoute(error)) throw error
        this.#route = Promise.resolve("completions")
      }
    }
    const spelled = route === "spelled-completions" || needsIds
    const body = {
      prompt,
      ...this.#completionFields(sampling),
      return_token_ids: true,
      ...(spelled ? { return_tokens_as_token_ids: true } : {}),
      ...sampling.extra,
    }
    return this.#connection.askOpenAi(this.#connection.own("/v1/completions"), body, options)
  }

  #generate(prompt: TokenIdList, sampling: SamplingOptions, options: RequestOptions): Promise<JsonObject> {
    const body = {
      ...this.#model(),
      token_ids: prompt,
      output_mode: (sampling.topLogprobs ?? 0) > 0 ? "tokens" : "text",
      sampling_params: { ...namedSampling(sampling), logprobs: sampling.topLogprobs ?? 0, ...sampling.extra },
    }
    return this.#connection.askOpenAi(this.#connection.own("/inference/v1/generate"), body, options)
  }

  /** Found out once, from what the server says of itself; a failure to ask is not remembered. */
  #tokenRoute(signal: AbortSignal | undefined): Promise<TokenRoute> {
    this.#route ??= this.#findTokenRoute(signal).catch((error: unknown) => {
      this.#route = undefined
      throw error
    })
    return this.#route
  }

  async #findTokenRoute(signal: AbortSignal | undefined): Promise<TokenRoute> {
    const said = await this.#connection.probe("/version", signal)
    const version = isObject(said) && typeof said["version"] === "string" ? said["version"] : undefined
    if (version === undefined) {
      return (await this.#connection.probe("/bridge/info", signal)) === undefined ? "completions" : "atropos"
    }
    if (isOlder(version, [0, 10, 2])) return "spelled-completions"
    if (isOlder(version, [0, 33, 0])) return "completions"
    try {
      // One token: whether the route is on shows only when it is used, and hundreds may be about to.
      await this.#generate([0], { maxTokens: 1 }, signal === undefined ? {} : { signal })
      return "generate"
    } catch (error) {
      if (isMissingRoute(error)) return "completions"
      throw error
    }
  }
}

function isMissingRoute(error: unknown): boolean {
  const status = isAtroposError(error, "inference-request") ? error.facts["status"] : undefined
  return status === 403 || status === 404 || status === 405
}

/** Versions that do not start with three numbers are somebody's own build: taken as new. */
function isOlder(version: string, than: readonly [number, number, number]): boolean {
  const numbers = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number)
  if (numbers === undefined) return false
  for (const [index, bound] of than.entries()) {
    const own = numbers[index] ?? 0
    if (own !== bound) return own < bound
  }
  return false
}
