import type { TokenIdList } from "../../chat/token-ids.ts"
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
import { applyReasoning, isOfficialOpenAi } from "../reasoning.ts"
import { samplingDepartures } from "../sampling.ts"
import { isAtroposError } from "../../runtime/errors.ts"
import { probeTimeoutMs, ServerConnection } from "./connection.ts"
import { detectServerType } from "./detect.ts"
import { readChatAnswer } from "./openai-answers.ts"
import { chatFields, givenSampling } from "./openai-bodies.ts"
import { askMessages } from "./messages-api.ts"
import { askResponses } from "./responses-api.ts"
import { joinUrl, type ServerOptions } from "./server-config.ts"

/**
 * Any provider with OpenAI's routes. None tells token ids, so it serves chats and texts and refuses `completeTokens`.
 * May answer with fewer choices than asked for (providers that ignore `n`): the pool asks for the rest.
 */
export class OpenAiCompatibleServer implements InferenceServer {
  readonly name: string
  readonly baseUrl: string
  readonly #connection: ServerConnection
  readonly #official: boolean

  constructor(options: ServerOptions) {
    this.#connection = new ServerConnection("OpenAI-compatible server", options)
    this.baseUrl = options.baseUrl
    this.name = this.#connection.name
    this.#official = isOfficialOpenAi(options.baseUrl)
  }

  async chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    const { options: server } = this.#connection
    const sampling = request.sampling ?? {}
    const reasoning = request.skipReasoning ? undefined : server.reasoning
    if (server.api === "responses") return askResponses(this.#connection, request, reasoning, options)
    if (server.api === "messages") return askMessages(this.#connection, request, options)
    const { max_tokens: limit, ...others } = this.#sampling(sampling, options)
    const plain = {
      model: server.model,
      ...chatFields(request),
      ...others,
      // OpenAI's reasoning models know the new name only, and all its other models know it too.
      ...(limit === undefined ? {} : { [this.#official ? "max_completion_tokens" : "max_tokens"]: limit }),
      ...(request.logprobs ? { logprobs: true, top_logprobs: sampling.topLogprobs ?? 0 } : {}),
    }
    const body =
      reasoning === undefined
        ? plain
        : applyReasoning(plain, reasoning, { official: this.#official, unit: server.reasoningUnit ?? "effort" })
    return this.#ask("/chat/completions", { ...body, ...sampling.extra }, sampling, options)
  }

  async complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    const body = {
      model: this.#connection.options.model,
      prompt,
      ...this.#sampling(sampling, options),
      ...(sampling.topLogprobs === undefined ? {} : { logprobs: sampling.topLogprobs }),
      ...sampling.extra,
    }
    return this.#ask("/completions", body, sampling, options)
  }

  async completeTokens(_prompt: TokenIdList, _sampling: SamplingOptions): Promise<TokenCompletions> {
    throw await this.#noIds()
  }

  async promptLogprobs(): Promise<PromptLogprobs> {
    throw await this.#noIds()
  }

  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    try {
      await this.#connection.transport.text({
        url: joinUrl(this.baseUrl, "/models"),
        signal: options.signal,
        timeoutMs: probeTimeoutMs,
      })
    } catch (error) {
      // Providers without a model list, or with one behind another key, are no less alive.
      const status = isAtroposError(error, "inference-request") ? error.facts["status"] : undefined
      if (typeof status !== "number" || status >= 500) throw error
    }
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

  /** Providers refuse what they do not know, so only the parameters that all have are named unasked. */
  #sampling(sampling: Partial<SamplingOptions>, options: RequestOptions): Record<string, unknown> {
    const named = options.split === "eval" ? {} : { temperature: 1, ...(this.#official ? {} : { top_p: 1 }) }
    return { ...named, ...givenSampling(sampling) }
  }

  async #ask(
    path: string,
    body: Record<string, unknown>,
    sampling: Partial<SamplingOptions>,
    options: RequestOptions,
  ): Promise<ChatCompletions> {
    const { reader, options: server } = this.#connection
    const answer = await this.#connection.askOpenAi(joinUrl(this.baseUrl, path), body, options)
    return readChatAnswer(reader, answer, {
      logprobsMode: server.logprobsMode ?? "raw",
      departures: samplingDepartures(sampling),
    })
  }

  /** Often the server is one that has ids, and only configured as one that has not. */
  async #noIds(): Promise<Error> {
    const { apiKey } = this.#connection.options
    const type = await detectServerType({ baseUrl: this.baseUrl, apiKey }).catch(() => "openai")
    return this.#connection.unsupported(
      "is configured as a server that tells no token ids",
      type === "openai"
        ? "exact tokens need vLLM, SGLang or TRL"
        : `it says that it is ${type}: set server_type to ${type}`,
    )
  }
}
