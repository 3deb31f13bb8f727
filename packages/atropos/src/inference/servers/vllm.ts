import type { InferenceServer, RequestOptions, SamplingOptions, TokenCompletions } from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { HttpTransport } from "../transport/http-transport.ts"
import { AnswerReader, isObject } from "../transport/read.ts"
import { versionNumber } from "../versions.ts"
import { namedSampling } from "./openai-bodies.ts"
import { readChoices, readTokenChoice, readUsage } from "./openai-answers.ts"
import { defaultTimeoutMs, describeServer, joinUrl, rootUrl, type ServerOptions } from "./server-config.ts"

/** A stock vLLM server (TRL from 1.11 on is one too). */
export class VllmServer implements Pick<
  InferenceServer,
  "name" | "baseUrl" | "completeTokens" | "health" | "policyVersion" | "close"
> {
  readonly name: string
  readonly baseUrl: string
  readonly #options: ServerOptions
  readonly #transport: HttpTransport
  readonly #reader: AnswerReader
  readonly #root: string

  constructor(options: ServerOptions) {
    this.#options = options
    this.baseUrl = options.baseUrl
    this.name = describeServer("vLLM", options.baseUrl)
    this.#root = rootUrl(options.baseUrl)
    this.#reader = new AnswerReader(this.name)
    this.#transport = new HttpTransport({
      server: this.name,
      apiKey: options.apiKey,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    })
  }

  async completeTokens(
    prompt: readonly number[],
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    const body = this.#reader.object(
      await this.#transport.json({
        url: joinUrl(this.#root, "/v1/completions"),
        body: {
          model: this.#options.model,
          prompt,
          ...namedSampling(sampling),
          logprobs: sampling.topLogprobs ?? 0,
          return_token_ids: true,
          return_weight_versions: true,
          ...sampling.extra,
        },
        signal: options.signal,
      }),
      "the body",
    )
    return {
      choices: readChoices(this.#reader, body).map((choice) => readTokenChoice(this.#reader, body, choice)),
      logprobsMode: this.#options.logprobsMode ?? "raw",
      departures: samplingDepartures(sampling),
      usage: readUsage(body),
    }
  }

  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    await this.#transport.text({ url: joinUrl(this.#root, "/health"), signal: options.signal, timeoutMs: 5_000 })
  }

  async policyVersion(options: { signal?: AbortSignal } = {}): Promise<number | undefined> {
    const { status, text } = await this.#transport.text({
      url: joinUrl(this.#root, "/weight_info"),
      signal: options.signal,
      timeoutMs: 5_000,
      // Servers before 0.27, and all outside development mode, do not have the route.
      accept: (status) => status === 200 || status === 404,
    })
    if (status === 404) return undefined
    const body: unknown = JSON.parse(text)
    return isObject(body) && typeof body["weight_version"] === "string"
      ? versionNumber(body["weight_version"])
      : undefined
  }

  close(): Promise<void> {
    return this.#transport.close()
  }
}
