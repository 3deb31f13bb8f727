import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import type { Dispatcher } from "undici"
import { AtroposError } from "../../runtime/errors.ts"
import { LazyAgent } from "../../runtime/lazy-agent.ts"
import { describeRefusal } from "./refusal.ts"

export interface TransportOptions {
  /** Where the server answers; a name and password in it are sent as Basic. */
  url: string
  /** Sent as Bearer. */
  token?: string | undefined
  /** How long one attempt may wait for the answer to begin, and for each further piece of it. */
  attemptTimeoutMs: number
  /** Connections that are kept open at most. */
  connections: number
}

export interface Call {
  method: "GET" | "POST"
  path: string
  body?: Uint8Array
  gzip?: boolean
  idempotencyKey?: string
  signal?: AbortSignal | undefined
  /** Time that the server was asked to take before it answers, on top of the attempt's timeout. */
  patienceMs?: number
}

const inflate = promisify(gunzip)

/**
 * One attempt at a call: no retries. Throws `server-refused` for any answer but a 2xx, `server-unreachable` when there
 * is none, `server-garbled` when it can not be read. Each says whether the call may be tried again.
 */
export class Transport {
  readonly #base: string
  readonly #authorization: string | null
  readonly #attemptTimeoutMs: number
  readonly #agent: LazyAgent

  constructor(options: TransportOptions) {
    const url = parseUrl(options.url)
    this.#authorization = authorization(url, options.token)
    url.username = url.password = ""
    this.#base = url.href.replace(/\/+$/, "")
    this.#attemptTimeoutMs = options.attemptTimeoutMs
    this.#agent = new LazyAgent({ connections: options.connections, connect: { timeout: options.attemptTimeoutMs } })
  }

  /** Without name and password: fit for logs. */
  get url(): string {
    return this.#base
  }

  /** The text of a 2xx answer. */
  async attempt(call: Call): Promise<string> {
    const what = `${call.method} ${this.#base}${call.path}`
    let status: number
    let headers: Dispatcher.ResponseData["headers"]
    let bytes: Buffer
    try {
      const response = await this.#agent.request(this.#base + call.path, this.#options(call))
      status = response.statusCode
      headers = response.headers
      bytes = Buffer.from(await response.body.arrayBuffer())
    } catch (cause) {
      call.signal?.throwIfAborted()
      throw new AtroposError("server-unreachable", `${what} got no answer: ${reasonOf(cause)}${wayOut(cause)}.`, {
        cause,
        retryable: true,
      })
    }
    const text = await decode(bytes, headers["content-encoding"]).catch((cause: unknown) => {
      throw garbled(what, reasonOf(cause))
    })
    if (status >= 200 && status < 300) return text
    throw new AtroposError("server-refused", `${what} was refused with ${status}: ${describeRefusal(text)}`, {
      facts: { status, path: call.path, retryAfterMs: retryAfterMs(headers["retry-after"]) },
      retryable: status >= 500 || status === 408 || status === 425 || status === 429,
    })
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  #options(call: Call): Parameters<LazyAgent["request"]>[1] {
    const timeoutMs = this.#attemptTimeoutMs + (call.patienceMs ?? 0)
    return {
      method: call.method,
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      headers: {
        accept: "application/json",
        "accept-encoding": "gzip",
        ...(this.#authorization === null ? {} : { authorization: this.#authorization }),
        ...(call.body === undefined ? {} : { "content-type": "application/json" }),
        ...(call.gzip === true ? { "content-encoding": "gzip" } : {}),
        ...(call.idempotencyKey === undefined ? {} : { "idempotency-key": call.idempotencyKey }),
      },
      ...(call.body === undefined ? {} : { body: call.body }),
      ...(call.signal === undefined ? {} : { signal: call.signal }),
    }
  }
}

/** An answer that is not what the call is answered with: a proxy's page, half an answer. */
export function garbled(what: string, reason: string): AtroposError {
  return new AtroposError("server-garbled", `The answer to ${what} can not be read: ${reason}.`, { retryable: true })
}

/** For those who have not started a server yet. */
function wayOut(cause: unknown): string {
  const isNobodyThere = cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED"
  return isNobodyThere ? " (atropos run-api starts a trajectory server)" : ""
}

function parseUrl(text: string): URL {
  if (URL.canParse(text)) {
    const url = new URL(text)
    if (url.protocol === "http:" || url.protocol === "https:") return url
  }
  const hint = 'a trajectory server\'s url looks like "http://127.0.0.1:8000"'
  throw new AtroposError("bad-option", `${hint}, received ${JSON.stringify(text.replace(/\/\/[^@/]*@/, "//…@"))}.`)
}

function authorization(url: URL, token: string | undefined): string | null {
  if (token !== undefined) return `Bearer ${token}`
  if (url.username === "" && url.password === "") return null
  const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  return `Basic ${Buffer.from(pair).toString("base64")}`
}

async function decode(bytes: Buffer, encoding: string | string[] | undefined): Promise<string> {
  return (encoding === "gzip" ? await inflate(bytes) : bytes).toString()
}

/** Retry-After in seconds or as a date. */
function retryAfterMs(value: string | string[] | undefined): number | null {
  if (typeof value !== "string") return null
  const seconds = Number(value)
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000)
  const date = Date.parse(value)
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now())
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if ("code" in error && typeof error.code === "string" && !error.message.includes(error.code)) {
    return error.message === "" ? error.code : `${error.message} (${error.code})`
  }
  return error.message
}
