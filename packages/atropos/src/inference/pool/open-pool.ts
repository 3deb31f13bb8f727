import type { Tokenizer } from "../../chat/tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { LogprobsMode, ReasoningOptions } from "../inference-server.ts"
import { openServer } from "../servers/open-server.ts"
import type { ServerType } from "../servers/server-config.ts"
import { ServerPool, type ServerPoolOptions } from "./server-pool.ts"

/** One server as configuration describes it; defaults are the configuration's own. */
export interface PoolServerOptions {
  /** Used as given; null is OpenAI's. */
  baseUrl: string | null
  /** Used as given; null is the variable OPENAI_API_KEY. */
  apiKey: string | null
  modelName: string
  serverType: ServerType
  /** Seconds that one request may take. */
  timeout: number
  numMaxRequestsAtOnce: number
  numRequestsForEval: number
  rollingBufferLength: number
  nKwargIsIgnored: boolean
  healthCheck: boolean
  reasoning?: ReasoningOptions
  reasoningUnit?: "effort" | "tokens"
  api?: "chat" | "responses" | "messages"
  logprobsMode?: LogprobsMode
  tokenizer?: Tokenizer
}

/** The pool of configured servers. Asks none of them yet. */
export function openServerPool(
  servers: readonly PoolServerOptions[],
  options: Omit<ServerPoolOptions, "healthChecks"> & {
    environment?: Readonly<Record<string, string | undefined>>
  } = {},
): ServerPool {
  const { environment = {}, ...poolOptions } = options
  return new ServerPool(
    servers.map(({ baseUrl, apiKey, modelName, serverType, timeout, ...rest }) => {
      const { reasoning, reasoningUnit, api, logprobsMode, tokenizer } = rest
      return {
        server: openServer(serverType, {
          baseUrl: baseUrl ?? "https://api.openai.com/v1",
          apiKey: apiKey ?? requireKey(environment),
          model: modelName,
          timeoutMs: timeout * 1000,
          ...(reasoning === undefined ? {} : { reasoning }),
          ...(reasoningUnit === undefined ? {} : { reasoningUnit }),
          ...(api === undefined ? {} : { api }),
          ...(logprobsMode === undefined ? {} : { logprobsMode }),
          ...(tokenizer === undefined ? {} : { tokenizer }),
        }),
        trainPlaces: rest.numMaxRequestsAtOnce,
        evalPlaces: rest.numRequestsForEval,
        metricsLength: rest.rollingBufferLength,
        ignoresN: rest.nKwargIsIgnored,
      }
    }),
    { ...poolOptions, healthChecks: servers.some(({ healthCheck }) => healthCheck) },
  )
}

function requireKey(environment: Readonly<Record<string, string | undefined>>): string {
  const key = environment["OPENAI_API_KEY"]
  if (key !== undefined && key !== "") return key
  throw new AtroposError("bad-option", "api_key is null and OPENAI_API_KEY is not set: set one of them")
}
