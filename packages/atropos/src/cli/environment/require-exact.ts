import type { EnvironmentConfig } from "../../environment/config/environment-config.ts"
import type { ServerConfig } from "../../environment/config/server-config.ts"
import { detectServerType } from "../../inference/servers/detect.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"

/** The older name of allow_inexact_tokens. */
const allowance = "ATROPOS_ALLOW_DUMMY_MANAGED_SERVER"

/** Whether training goes on with tokens that are a reading of the provider's text. */
export function allowsInexact(
  config: Pick<EnvironmentConfig, "allowInexactTokens">,
  environment: Readonly<Record<string, string | undefined>>,
): boolean {
  return config.allowInexactTokens || /^(1|true|yes)$/i.test(environment[allowance] ?? "")
}

/**
 * Training wants the ids and logprobs of what was sampled, and providers with OpenAI's routes tell neither: says so
 * before the first rollout, and what the server really is where it can be told.
 */
export async function requireExact(
  servers: readonly ServerConfig[],
  context: { allowed: boolean; logger: Logger; signal: AbortSignal },
): Promise<void> {
  const inexact = servers.find(({ serverType }) => serverType === "openai")
  if (inexact === undefined) return
  if (context.allowed) {
    context.logger.warn(`inexact tokens are allowed: sequences are a tokenizer's reading of texts, without logprobs`)
    return
  }
  const address = inexact.baseUrl ?? "the official OpenAI API"
  const kind = await recognise(inexact, context.signal)
  const hint =
    kind === undefined || kind === "openai"
      ? "set --openai.server_type to vllm, sglang or trl if it is one"
      : `it says that it is ${kind}: set --openai.server_type ${kind}`
  throw new AtroposError(
    "bad-option",
    `training needs the token ids and logprobs of what was sampled, and server_type openai (${address}) tells neither; ${hint}. ` +
      "--env.allow_inexact_tokens true trains on re-tokenized text all the same",
  )
}

async function recognise(server: ServerConfig, signal: AbortSignal): Promise<string | undefined> {
  if (server.baseUrl === null || server.baseUrl === "") return undefined
  try {
    const bounded = AbortSignal.any([signal, AbortSignal.timeout(5000)])
    return await detectServerType({ baseUrl: server.baseUrl, apiKey: server.apiKey ?? "" }, bounded)
  } catch {
    // Not there, or not saying: the general hint has to do.
    return undefined
  }
}
