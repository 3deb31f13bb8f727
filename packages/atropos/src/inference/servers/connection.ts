import { findBadId, type TokenIdList } from "../../chat/token-ids.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { CallOptions, RequestOptions } from "../inference-server.ts"
import { HttpTransport } from "../transport/http-transport.ts"
import { AnswerReader, type JsonObject } from "../transport/read.ts"
import { OpenAiStream } from "./openai-stream.ts"
import { defaultTimeoutMs, describeServer, joinUrl, rootUrl, type ServerOptions } from "./server-config.ts"

/** Health and settings are asked for with a short bound: a server that is up answers at once. */
export const probeTimeoutMs = 5_000

/** One server's address, connections and words, which its adapter is written with. */
export class ServerConnection {
  readonly name: string
  readonly options: ServerOptions
  readonly reader: AnswerReader
  readonly transport: HttpTransport
  readonly #root: string

  constructor(kind: string, options: ServerOptions) {
    if (!/^https?:$/.test(protocolOf(options.baseUrl))) {
      throw new AtroposError(
        "bad-option",
        `base_url must be an address such as http://localhost:9001/v1, received ${JSON.stringify(options.baseUrl)}`,
      )
    }
    this.options = options
    this.name = describeServer(kind, options.baseUrl)
    this.reader = new AnswerReader(this.name)
    this.#root = rootUrl(options.baseUrl)
    this.transport = new HttpTransport({
      server: this.name,
      apiKey: options.apiKey,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    })
  }

  /** A route that stands beside `/v1`. */
  own(path: string): string {
    return joinUrl(this.#root, path)
  }

  async ask(url: string, body: unknown, signal: AbortSignal | undefined): Promise<JsonObject> {
    return this.reader.object(await this.transport.json({ url, body, signal }), "the body")
  }

  /** Asks a route with OpenAI's answers, as a stream when the caller wants pieces; resolves to the whole body. */
  async askOpenAi(url: string, body: JsonObject, options: RequestOptions): Promise<JsonObject> {
    if (options.onDelta === undefined) return this.ask(url, body, options.signal)
    const stream = new OpenAiStream(options.onDelta)
    const streamed = { ...body, stream: true, stream_options: { include_usage: true } }
    for await (const { data } of this.transport.events({ url, body: streamed, signal: options.signal })) {
      stream.add(data)
    }
    if (!stream.complete) throw this.cut()
    return stream.body()
  }

  /** A GET that answers at once; undefined where the server does not have the route. */
  async probe(path: string, signal: AbortSignal | undefined): Promise<unknown> {
    const { status, text } = await this.transport.text({
      url: this.own(path),
      signal,
      timeoutMs: probeTimeoutMs,
      accept: (status) => status === 200 || status === 404 || status === 405,
    })
    if (status !== 200) return undefined
    try {
      return text === "" ? null : JSON.parse(text)
    } catch {
      return text
    }
  }

  call(method: "GET" | "POST", path: string, body: unknown, options: CallOptions): Promise<unknown> {
    return this.transport.json({ method, url: this.own(path), body, ...options })
  }

  /** The error for a stream that ended before its answers did. */
  cut(): AtroposError {
    return new AtroposError("inference-network", `${this.name} ended the stream in the middle of an answer`, {
      retryable: true,
    })
  }

  unsupported(what: string, wayOut: string): AtroposError {
    return new AtroposError("inference-unsupported", `${this.name} ${what}; ${wayOut}`)
  }

  /** Refuses ids that no tokenizer has: SGLang's scheduler dies of them. */
  checkPrompt(prompt: TokenIdList): void {
    const size = this.options.tokenizer?.vocabularySize ?? Number.POSITIVE_INFINITY
    const bad = findBadId(prompt, size)
    if (prompt.length > 0 && bad === undefined) return
    const received = prompt.length === 0 ? "no tokens" : `the id ${bad}`
    const range = Number.isFinite(size) ? ` (0 to ${size - 1})` : ""
    throw new AtroposError(
      "bad-option",
      `a prompt for ${this.name} must be token ids of its model${range}, received ${received}`,
    )
  }
}

function protocolOf(address: string): string {
  try {
    return new URL(address).protocol
  } catch {
    return ""
  }
}
