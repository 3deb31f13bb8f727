// For tests: an environment served to a real trajectory server in this process, with a trainer and a scripted policy.
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import type { RegisterRequest } from "../../protocol/messages.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { createMemoryStore } from "../../server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../server/trajectory-server.ts"
import { type EnvironmentConfig, environmentConfig } from "../config/environment-config.ts"
import { withFieldNames } from "../config/keys.ts"
import type { EnvironmentClass } from "../environment-class.ts"
import { createRandom } from "../random.ts"
import { createSessionFactory } from "../session-factory.ts"
import { ScriptedPolicy, type ScriptedPolicyOptions } from "../testing/scripted-policy.ts"
import { createStubTokenizer } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import type { RunListener } from "./run-listener.ts"
import { serve } from "./serve.ts"
import type { RunSummary } from "./summary.ts"

export interface Server {
  url: string
  client: TrajectoryClient
  register(change?: Partial<RegisterRequest>): Promise<void>
  /** Takes batches until the signal aborts or `count` are there; they come in the order of their steps. */
  train(count: number, signal?: AbortSignal): Promise<{ scores: number[][]; names: (number | null)[] }[]>
  close(): Promise<void>
}

export async function openServer(): Promise<Server> {
  const server = createTrajectoryServer({ store: createMemoryStore() })
  const url = await server.listen({ host: "127.0.0.1", port: 0 })
  const client = new TrajectoryClient({ url })
  return {
    url,
    client,
    register: async (change = {}) => {
      await client.register({
        wandb_group: "group",
        wandb_project: "project",
        batch_size: 8,
        max_token_len: 512,
        checkpoint_dir: "",
        save_checkpoint_interval: 0,
        starting_step: 0,
        num_steps: 5,
        ...change,
      })
    },
    train: async (count, signal) => {
      const batches = []
      while (batches.length < count && signal?.aborted !== true) {
        const { batch } = await client.batch({ waitSeconds: 1 })
        if (batch === null) continue
        batches.push({ scores: batch.map(({ scores }) => scores), names: batch.map(({ env_id }) => env_id) })
      }
      return batches
    },
    close: async () => {
      await client.close()
      await server.close()
    },
  }
}

export interface StartOptions<Config extends EnvironmentConfig> {
  server: Pick<Server, "url">
  config?: Partial<Config>
  answer?: ScriptedPolicyOptions["answer"]
  listeners?: RunListener[]
  workingDirectory?: string
  serverCount?: number
  providerIsWell?: () => boolean
  /** False lets the policy answer as a provider without token ids. @default true */
  exact?: boolean
  /** Instead of one of the fixture's own. */
  client?: TrajectoryClient
}

export interface Started {
  policy: ScriptedPolicy
  summary: Promise<RunSummary>
  stop(): void
  close(): Promise<void>
}

/** Starts to serve an environment. */
export function startServing<Item, Config extends EnvironmentConfig>(
  environmentClass: EnvironmentClass<Item, Config>,
  options: StartOptions<Config>,
): Started {
  const { about } = environmentClass
  const schema = about.config ?? environmentConfig
  const config = schema.parse({
    ...withFieldNames(about.defaults ?? {}, Object.keys(schema.shape)),
    seed: 1,
    shutdownGrace: 0,
    ...options.config,
  }) as Config
  const tokenizer = createStubTokenizer()
  let count = 0
  const policy = new ScriptedPolicy({ tokenizer, answer: options.answer ?? (() => "word ".repeat((count++ % 7) + 1)) })
  const client = options.client ?? new TrajectoryClient({ url: options.server.url })
  const stop = new AbortController()
  let maxTokenLen = -1
  const limits: RunListener = {
    registered: (registration) => {
      maxTokenLen = registration.maxTokenLen
    },
  }
  const summary = serve({
    environment: new environmentClass({
      config,
      logger: silentLogger,
      random: createRandom(1),
      tokenizer,
      helpers: {},
    }),
    name: about.name,
    config,
    client,
    openSession: createSessionFactory({
      policy,
      tokenizer,
      config,
      maxTokenLen: () => maxTokenLen,
      exact: options.exact ?? true,
    }),
    serverCount: options.serverCount ?? 1,
    evaluationConcurrency: 4,
    random: createRandom(2),
    logger: silentLogger,
    signal: stop.signal,
    workingDirectory: options.workingDirectory ?? "/nonexistent",
    ...(options.providerIsWell === undefined ? {} : { providerIsWell: options.providerIsWell }),
    listeners: [limits, ...(options.listeners ?? [])],
    pollMs: 5,
    registrationPollMs: 20,
  })
  return {
    policy,
    summary,
    stop: () => stop.abort(),
    close: async () => {
      stop.abort()
      await summary.catch(() => {})
      await client.close({ flushTimeoutMs: 0 })
    },
  }
}
