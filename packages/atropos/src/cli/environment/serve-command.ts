import { createRandom } from "../../environment/random.ts"
import { serve } from "../../environment/serve/serve.ts"
import { createSessionFactory } from "../../environment/session-factory.ts"
import type { EnvironmentClass } from "../../environment/environment-class.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { createLineLogger } from "../../runtime/logger.ts"
import type { CommandContext } from "../command.ts"
import { connectPolicy } from "./connect-policy.ts"
import type { Configuration } from "./resolve-configuration.ts"

/** `atropos serve`: runs an environment against a trajectory server until its work is done. */
export async function runServe(
  environmentClass: EnvironmentClass,
  configuration: Configuration,
  context: CommandContext,
): Promise<number> {
  const { env, run } = configuration
  const logger = createLineLogger({ level: run.logLevel, json: run.json, write: context.stderr })
  const policy = await connectPolicy(configuration, context)
  const client = new TrajectoryClient({ url: env.rolloutServerUrl })
  try {
    let maxTokenLen = -1
    const random = createRandom(env.seed ?? Math.floor(Math.random() * 2 ** 31))
    const summary = await serve({
      environment: new environmentClass({
        config: env,
        logger,
        random: random.fork("environment"),
        tokenizer: policy.tokenizer,
        helpers: {},
      }),
      name: environmentClass.about.name,
      config: env,
      client,
      openSession: createSessionFactory({
        policy: policy.server,
        tokenizer: policy.tokenizer,
        config: env,
        render: () => {
          throw new TypeError("chat needs the tokenizer's template")
        },
        maxTokenLen: () => maxTokenLen,
      }),
      onRegistration: (registration) => {
        maxTokenLen = registration.maxTokenLen
      },
      serverCount: policy.serverCount,
      random: random.fork("rollouts"),
      logger,
      signal: context.signal,
    })
    logger.info("done", { ...summary })
    return 0
  } finally {
    await client.close()
    await policy.close()
  }
}
