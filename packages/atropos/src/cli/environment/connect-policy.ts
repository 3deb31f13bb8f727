import type { Tokenizer } from "../../chat/tokenizer.ts"
import { loadTokenizer } from "../../chat/tokenizers/load-tokenizer.ts"
import { reasoningOf } from "../../environment/config/reasoning.ts"
import type { ServerConfig } from "../../environment/config/server-config.ts"
import { toldAnswer } from "../../environment/testing/gold-now-and-then.ts"
import type { InferenceServer } from "../../inference/inference-server.ts"
import { openServerPool } from "../../inference/pool/open-pool.ts"
import type { ServerPool } from "../../inference/pool/server-pool.ts"
import { discoverSlurmServers } from "../../inference/slurm/discover-servers.ts"
import type { ModelStub } from "../../inference/stub/model-stub.ts"
import { AtroposError, isAtroposError } from "../../runtime/errors.ts"
import { type Logger, silentLogger } from "../../runtime/logger.ts"
import type { Configuration } from "./resolve-configuration.ts"

/** Where inference servers are looked for when no address is configured. */
const usualPorts = [9004, 9005, 9006, 9007]

const withoutServers =
  "Rollouts wait and go on by themselves when it is there. --openai.base_url names another server; without a model, " +
  "atropos stub is one, and --testing does without"

export interface Policy {
  server: ServerPool
  tokenizer: Tokenizer
  serverCount: number
  /** Whether all servers tell the ids of what they sampled. */
  exact: boolean
  /** Evaluation requests that all servers take together. */
  evaluationConcurrency: number
  /** Other inference servers, by name. */
  helpers: Record<string, InferenceServer>
  close(): Promise<void>
}

export interface ConnectContext {
  environment: Readonly<Record<string, string | undefined>>
  logger?: Logger
}

/** The policy as configured: its servers and its tokenizer; with `--testing` a stub that brings both. */
export async function connectPolicy(
  { env, servers, run, helpers: helperConfigs }: Configuration,
  context: ConnectContext,
): Promise<Policy> {
  const stub = run.testing ? await startStub(env.seed ?? 0) : undefined
  const tokenizer = stub?.tokenizer ?? (await loadNamed(env.tokenizerName))
  const placed = await placeServers(servers, { stub, slurm: run.slurm, environment: context.environment })
  const server = await openPool(placed, tokenizer, { env, run }, { ...context, wayOut: withoutServers })
  const helpers: Record<string, InferenceServer> = {}
  for (const [name, configs] of Object.entries(helperConfigs)) {
    const own = await placeServers(configs, { stub, slurm: false, environment: context.environment })
    helpers[name] = await openPool(own, undefined, { env, run }, context)
  }
  return {
    server,
    tokenizer,
    serverCount: placed.length,
    exact: placed.every(({ serverType }) => serverType !== "openai"),
    evaluationConcurrency: placed.reduce((sum, { numRequestsForEval }) => sum + numRequestsForEval, 0),
    helpers,
    close: async () => {
      await Promise.all([server, ...Object.values(helpers)].map((opened) => opened.close()))
      await stub?.close()
    },
  }
}

/** What is missing may be the first thing that a newcomer hears of tokenizers. */
async function loadNamed(tokenizerName: string): Promise<Tokenizer> {
  try {
    return await loadTokenizer(tokenizerName)
  } catch (error) {
    if (!isAtroposError(error)) throw error
    const { code, message, facts, retryable } = error
    const wayOut = "--env.tokenizer_name names a directory or a hub id, and --testing needs neither tokenizer nor model"
    throw new AtroposError(code, `the policy's tokenizer: ${message}. ${wayOut}`, { cause: error, facts, retryable })
  }
}

async function startStub(seed: number): Promise<ModelStub> {
  const { createModelStub } = await import("../../inference/stub/model-stub.ts")
  // Answers long enough for environments that leave out short ones.
  return createModelStub({ seed, minTokens: 16, answer: toldAnswer })
}

/** The servers with addresses: as given, those of the Slurm job, the usual ports, or the stub in their place. */
async function placeServers(
  configs: readonly ServerConfig[],
  options: { stub: ModelStub | undefined; slurm: boolean; environment: ConnectContext["environment"] },
): Promise<ServerConfig[]> {
  const { stub, slurm, environment } = options
  if (stub !== undefined) {
    return configs.map((config) => ({
      ...config,
      baseUrl: stub.baseUrl,
      apiKey: "",
      serverType: "vllm",
      tokenizerName: "none",
      modelName: "atropos-stub",
    }))
  }
  const [first] = configs
  if (slurm && first !== undefined) {
    return (await discoverSlurmServers({ environment })).map((baseUrl) => ({ ...first, baseUrl }))
  }
  return configs.flatMap((config) =>
    config.baseUrl === ""
      ? usualPorts.map((port) => ({ ...config, baseUrl: `http://localhost:${port}/v1` }))
      : [config],
  )
}

async function openPool(
  configs: readonly ServerConfig[],
  tokenizer: Tokenizer | undefined,
  { env, run }: Pick<Configuration, "env" | "run">,
  { environment, logger = silentLogger, wayOut }: ConnectContext & { wayOut?: string },
): Promise<ServerPool> {
  const reasoning = reasoningOf(env)
  const servers = await Promise.all(
    configs.map(async ({ tokenizerName, ...config }) => {
      const own = tokenizerName === "none" ? tokenizer : await loadTokenizer(tokenizerName)
      return {
        ...config,
        ...(reasoning === undefined ? {} : { reasoning }),
        ...(own === undefined ? {} : { tokenizer: own }),
      }
    }),
  )
  return openServerPool(servers, {
    environment,
    logger,
    maxCompletions: run.maxNCompletions,
    ...(wayOut === undefined ? {} : { wayOut }),
  })
}
