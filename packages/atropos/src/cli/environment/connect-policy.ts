import type { Tokenizer } from "../../chat/tokenizer.ts"
import { loadTokenizer } from "../../chat/tokenizers/load-tokenizer.ts"
import type { ServerConfig } from "../../environment/config/server-config.ts"
import type { InferenceServer } from "../../inference/inference-server.ts"
import { openServer } from "../../inference/servers/open-server.ts"
import { createModelStub } from "../../inference/stub/model-stub.ts"
import type { Configuration } from "./resolve-configuration.ts"

export interface Policy {
  server: InferenceServer
  tokenizer: Tokenizer
  serverCount: number
  /** Evaluation requests that all servers take together. */
  evaluationConcurrency: number
  /** Other inference servers, by name. */
  helpers: Record<string, InferenceServer>
  close(): Promise<void>
}

/** The policy as configured: its servers and its tokenizer; with `--testing` a stub that brings both. */
export async function connectPolicy(
  { env, servers, run, helpers: helperConfigs }: Configuration,
  context: { environment: Readonly<Record<string, string | undefined>> },
): Promise<Policy> {
  const stub = run.testing ? await createModelStub({ seed: env.seed ?? 0 }) : undefined
  const connect = (configs: readonly ServerConfig[]): InferenceServer =>
    stub === undefined
      ? connectServers(configs, context.environment)
      : openServer("vllm", { baseUrl: stub.baseUrl, model: "atropos-stub" })
  const server = connect(servers)
  const helpers = Object.fromEntries(Object.entries(helperConfigs).map(([name, configs]) => [name, connect(configs)]))
  return {
    server,
    tokenizer: stub?.tokenizer ?? (await loadTokenizer(env.tokenizerName)),
    serverCount: servers.length,
    evaluationConcurrency: servers.reduce((sum, { numRequestsForEval }) => sum + numRequestsForEval, 0),
    helpers,
    close: async () => {
      await Promise.all([server, ...Object.values(helpers)].map((opened) => opened.close()))
      await stub?.close()
    },
  }
}

function connectServers(
  configs: readonly ServerConfig[],
  environment: Readonly<Record<string, string | undefined>>,
): InferenceServer {
  const [first] = configs
  return openServer(first?.serverType ?? "openai", {
    baseUrl: first?.baseUrl ?? "",
    apiKey: first?.apiKey ?? environment["OPENAI_API_KEY"],
    model: first?.modelName ?? "default",
    timeoutMs: (first?.timeout ?? 1200) * 1000,
  })
}
