import type { LogprobsMode, ReasoningOptions } from "../inference-server.ts"

export type ServerType = "openai" | "vllm" | "sglang" | "trl" | "atropos-vllm"

/** What an adapter is made of. */
export interface ServerOptions {
  /** Used as given; routes are appended. vLLM's and SGLang's own routes stand beside its `/v1`. */
  baseUrl: string
  /** Sent as a bearer token when it is not empty. */
  apiKey?: string | undefined
  /** The model's name in requests. */
  model: string
  /** Of one request, from sending to the last byte. @default 1_200_000 */
  timeoutMs?: number
  /** Sent with every chat that does not skip it. */
  reasoning?: ReasoningOptions
  /** What the server's logprobs are of, when its settings differ from its kind's default. */
  logprobsMode?: LogprobsMode
}

export const defaultTimeoutMs = 1_200_000

/** An address for messages: without user, password and query. */
export function describeServer(kind: string, baseUrl: string): string {
  try {
    const { origin, pathname } = new URL(baseUrl)
    return `${kind} at ${origin}${pathname === "/" ? "" : pathname}`
  } catch {
    return `${kind} at ${JSON.stringify(baseUrl)}`
  }
}

/** `base` with one `/` between it and `path`. */
export function joinUrl(base: string, path: string): string {
  return base.replace(/\/+$/, "") + path
}

/** Where a server's own routes are: its base URL without a closing `/v1`. */
export function rootUrl(baseUrl: string): string {
  return baseUrl.replace(/\/+$/, "").replace(/\/v1$/, "")
}
