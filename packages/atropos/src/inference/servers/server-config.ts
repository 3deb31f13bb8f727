import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { LogprobsMode, ReasoningOptions } from "../inference-server.ts"

/** What `server_type` says; whether a vLLM is stock or the original's own is found out. */
export type ServerType = "openai" | "vllm" | "sglang" | "trl"

/** What an adapter is made of. */
export interface ServerOptions {
  /** Used as given; routes are appended. The own routes of vLLM and SGLang stand beside its `/v1`. */
  baseUrl: string
  /** Sent as a bearer token when it is not empty. */
  apiKey?: string | undefined
  /** The model's name in requests. */
  model: string
  /** Of one request, from sending to the last byte. @default 1_200_000 */
  timeoutMs?: number
  /** Which of a provider's routes a chat takes (OpenAI-compatible servers). @default "chat" */
  api?: "chat" | "responses" | "messages"
  /** Sent with every chat that does not skip it (OpenAI-compatible servers). */
  reasoning?: ReasoningOptions
  /** How reasoning is asked for: "tokens" for providers that take no effort. @default "effort" */
  reasoningUnit?: "effort" | "tokens"
  /** What the server's logprobs are of, when its settings differ from its kind's default. */
  logprobsMode?: LogprobsMode
  /** The model's; TRL's server needs it, since it answers ids only, and prompts are checked against its size. */
  tokenizer?: Tokenizer
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
