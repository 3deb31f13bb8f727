import { Readable } from "node:stream"

import type { Dispatcher } from "undici"

import { AtroposError } from "../../runtime/errors.ts"
import { LazyAgent } from "../../runtime/lazy-agent.ts"
import { errorInBody, errorOfResponse } from "./server-error.ts"
import { requestBody } from "./request-body.ts"
import { readEvents, type ServerEvent } from "./event-stream.ts"

/** vLLM's HTTP server closes idle connections after 5 s; one reused just then is a request lost. Timers may be late. */
const keepAliveMs = 2_500
/** What a timer of the platform can count; beyond it fires at once. */
const longestTimerMs = 2 ** 31 - 1
const maxResponseBytes = 512 * 1024 * 1024

/** One piece as it is; several one after the other, which saves putting a long prompt together. */
function streamOf(pieces: Uint8Array[]): Uint8Array | Readable {
  const [only, ...more] = pieces
  return only !== undefined && more.length === 0 ? only : Readable.from(pieces, { objectMode: false })
}

export interface TransportOptions {
  /** How messages name the server: kind and address. */
  server: string
  apiKey: string | undefined
  /** Of one request, from sending to the last byte. */
  timeoutMs: number
}

export interface TransportRequest {
  method?: "GET" | "POST"
  url: string
  body?: unknown
  signal?: AbortSignal | undefined
  timeoutMs?: number
  /** Which answers are good ones. @default those with a 2xx status */
  accept?: (status: number) => boolean
}

/** HTTP to one server: its connections, its key, the bound on every wait, its errors as ours. Retries nothing. */
export class HttpTransport {
  readonly #options: TransportOptions
  readonly #agent: LazyAgent
  readonly #headers: Record<string, string>

  constructor(options: TransportOptions) {
    this.#options = options
    this.#agent = new LazyAgent({
      keepAliveTimeout: keepAliveMs,
      keepAliveMaxTimeout: keepAliveMs,
      // The pool bounds the requests at a time, and the timer here their length.
      connections: null,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: maxResponseBytes,
    })
    this.#headers = options.apiKey ? { authorization: `Bearer ${options.apiKey}` } : {}
  }

  /** The parsed body of a good answer; null for an empty one, its text when it is not JSON. */
  async json(options: TransportRequest): Promise<unknown> {
    const { text } = await this.text(options)
    if (text === "") return null
    let parsed: unknown
    try {
      parsed = JSON.parse(text)
    } catch {
      return text
    }
    const error = errorInBody(this.#options.server, parsed)
    if (error !== undefined) throw error
    return parsed
  }

  async text(options: TransportRequest): Promise<{ status: number; text: string }> {
    return this.#bounded(options, async (signal) => {
      const response = await this.#send(options, signal)
      const text = await response.body.text()
      this.#check(response, text, options)
      return { status: response.statusCode, text }
    })
  }

  /** Events of a streamed answer, each parsed; ends at `[DONE]`. Throws on an error event and on a cut connection. */
  async *events(options: TransportRequest): AsyncGenerator<{ event: string | undefined; data: unknown }, void, void> {
    const bound = new Bound(options.signal, options.timeoutMs ?? this.#options.timeoutMs)
    try {
      const response = await this.#send(options, bound.signal)
      if (response.statusCode !== 200) {
        this.#check(response, await response.body.text(), options)
      }
      for await (const { event, data } of readEvents(response.body as AsyncIterable<Uint8Array>)) {
        if (data === "[DONE]") return
        const parsed = this.#parseEvent({ event, data })
        yield { event, data: parsed }
      }
    } catch (error) {
      throw this.#translate(error, options, bound)
    } finally {
      bound.end()
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #parseEvent({ data }: ServerEvent): unknown {
    let parsed: unknown
    try {
      parsed = JSON.parse(data)
    } catch (cause) {
      throw new AtroposError("inference-answer", `${this.#options.server} streamed a line that is not JSON`, { cause })
    }
    const error = errorInBody(this.#options.server, parsed)
    if (error !== undefined) throw error
    return parsed
  }

  #send(options: TransportRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, method } = options
    if (options.body === undefined)
      return this.#agent.request(url, { method: method ?? "GET", headers: this.#headers, body: null, signal })
    const body = requestBody(options.body)
    const length = body.reduce((sum, piece) => sum + piece.length, 0)
    const headers = { ...this.#headers, "content-type": "application/json", "content-length": String(length) }
    return this.#agent.request(url, { method: method ?? "POST", headers, body: streamOf(body), signal })
  }

  #check(response: Dispatcher.ResponseData, text: string, options: TransportRequest): void {
    const { statusCode: status, headers } = response
    if (options.accept?.(status) ?? (status >= 200 && status < 300)) return
    if (status >= 300 && status < 400) {
      throw new AtroposError(
        "inference-request",
        `${this.#options.server} redirects ${options.url} to ${String(headers["location"])}; give that address as base_url`,
        { facts: { status } },
      )
    }
    throw errorOfResponse(this.#options.server, status, text, headers)
  }

  async #bounded<T>(options: TransportRequest, run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const bound = new Bound(options.signal, options.timeoutMs ?? this.#options.timeoutMs)
    try {
      return await run(bound.signal)
    } catch (error) {
      throw this.#translate(error, options, bound)
    } finally {
      bound.end()
    }
  }

  #translate(error: unknown, options: TransportRequest, bound: Bound): unknown {
    if (error instanceof AtroposError) return error
    if (options.signal?.aborted) return options.signal.reason
    const { server } = this.#options
    if (bound.timedOut) {
      return new AtroposError(
        "inference-timeout",
        `${server} gave no whole answer to ${options.method ?? "a request"} ${new URL(options.url).pathname} within ${bound.timeoutMs / 1000} s; raise timeout if that is usual`,
        { retryable: true, facts: { timeoutMs: bound.timeoutMs } },
      )
    }
    return new AtroposError(
      "inference-network",
      `${server} could not be reached or cut the connection: ${reasonOf(error)}`,
      {
        retryable: true,
        cause: error,
      },
    )
  }
}

/** Refused connections to a name with several addresses have an empty message and a code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.message || ("code" in error ? String(error.code) : error.name)
}

/** One signal of the caller's and a timer. */
class Bound {
  readonly timeoutMs: number
  timedOut = false
  readonly #controller = new AbortController()
  readonly #caller: AbortSignal | undefined
  readonly #timer: NodeJS.Timeout

  constructor(caller: AbortSignal | undefined, timeoutMs: number) {
    this.timeoutMs = timeoutMs
    this.#caller = caller
    this.#timer = setTimeout(
      () => {
        this.timedOut = true
        this.#controller.abort()
      },
      Math.min(timeoutMs, longestTimerMs),
    )
    if (caller?.aborted) this.#onAbort()
    else caller?.addEventListener("abort", this.#onAbort)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  readonly #onAbort = (): void => this.#controller.abort(this.#caller?.reason)

  end(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener("abort", this.#onAbort)
  }
}
