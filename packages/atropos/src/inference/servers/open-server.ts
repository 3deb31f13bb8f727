import type { CallOptions, InferenceServer } from "../inference-server.ts"
import { OpenAiCompatibleServer } from "./openai-compatible.ts"
import type { ServerOptions, ServerType } from "./server-config.ts"
import { SglangServer } from "./sglang.ts"
import { TrlServer } from "./trl.ts"
import { VllmServer } from "./vllm.ts"

/** A single server, as against a pool. */
export interface SingleServer extends InferenceServer {
  /**
   * Calls one of the server's own routes beside `/v1` (`/pause?mode=keep`, `/tokenize`, …) with its key, bounds
   * and errors, and resolves to what it answers.
   */
  call(method: "GET" | "POST", path: string, body?: unknown, options?: CallOptions): Promise<unknown>
  /** Whether generation is paused; undefined, or no such method, where the server does not say. */
  isPaused?(options?: { signal?: AbortSignal }): Promise<boolean | undefined>
}

/** The adapter of one server. Asks nothing yet. */
export function openServer(type: ServerType, options: ServerOptions): SingleServer {
  switch (type) {
    case "openai":
      return new OpenAiCompatibleServer(options)
    case "vllm":
      return new VllmServer(options)
    case "sglang":
      return new SglangServer(options)
    case "trl":
      return new TrlServer(options)
  }
}
