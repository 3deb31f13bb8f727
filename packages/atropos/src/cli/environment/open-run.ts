import { randomInt } from "node:crypto"

import type { EnvironmentConfig } from "../../environment/config/environment-config.ts"
import { type AnyEnvironmentClass, createEnvironment } from "../../environment/environment-class.ts"
import type { Environment } from "../../environment/environment.ts"
import { createRandom, type Random } from "../../environment/random.ts"
import type { OpenSession } from "../../environment/rollouts/run-rollout.ts"
import type { RunListener } from "../../environment/serve/run-listener.ts"
import { RunMetrics } from "../../environment/serve/run-metrics.ts"
import { createSessionFactory } from "../../environment/session-factory.ts"
import { goldNowAndThen } from "../../environment/testing/gold-now-and-then.ts"
import { createLineLogger, type Logger } from "../../runtime/logger.ts"
import type { CommandContext } from "../command.ts"
import { connectPolicy, type Policy } from "./connect-policy.ts"
import type { Configuration } from "./resolve-configuration.ts"

/** An environment with everything that it runs on, as a configuration says. */
export interface OpenRun {
  environment: Environment
  name: string
  config: EnvironmentConfig
  policy: Policy
  openSession: OpenSession
  random: Random
  logger: Logger
  /** Hands the trainer's limits to the sessions, and the environment's weight to the servers. */
  limits: RunListener
  metrics: RunMetrics
  /** Whether any inference server can be asked. */
  providerIsWell: () => boolean
  close(): Promise<void>
}

export async function openRun(
  environmentClass: AnyEnvironmentClass,
  configuration: Configuration,
  context: Pick<CommandContext, "stderr" | "environment">,
): Promise<OpenRun> {
  const { env: config, run } = configuration
  const logger = createLineLogger({ level: run.logLevel, json: run.json, write: context.stderr })
  for (const warning of configuration.warnings) logger.warn(warning)
  const policy = await connectPolicy(configuration, { ...context, logger })
  const random = createRandom(config.seed ?? randomInt(2 ** 31))
  const proxyUrl = run.proxyUrl ?? context.environment["ATROPOS_PROXY_URL"]
  let maxTokenLen = -1
  const environment = createEnvironment(environmentClass, {
    config,
    logger,
    random: random.fork("environment"),
    tokenizer: policy.tokenizer,
    helpers: policy.helpers,
    ...(proxyUrl === undefined ? {} : { proxyUrl }),
  })
  return {
    environment,
    name: environmentClass.about.name,
    config,
    policy,
    openSession: createSessionFactory({
      policy: run.testing ? (opened) => goldNowAndThen(policy.server, environment, opened) : policy.server,
      tokenizer: policy.tokenizer,
      config,
      maxTokenLen: () => maxTokenLen,
      exact: policy.exact,
    }),
    random: random.fork("rollouts"),
    logger,
    metrics: new RunMetrics({
      environment,
      config,
      tokenizer: policy.tokenizer,
      prefix: "",
      serverMetrics: () => policy.server.metrics(),
    }),
    limits: {
      registered: (registration) => {
        maxTokenLen = registration.maxTokenLen
      },
      status: ({ status }) => policy.server.setWeight(status.env_weight),
    },
    providerIsWell: () => policy.server.status().some(({ state }) => state === "well"),
    close: () => policy.close(),
  }
}
