import { type AnyEnvironmentClass, createEnvironment } from "../../environment/environment-class.ts"
import { runEvaluation } from "../../environment/evaluate/run-evaluation.ts"
import { createRandom } from "../../environment/random.ts"
import { createSessionFactory } from "../../environment/session-factory.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { connectPolicy } from "../environment/connect-policy.ts"
import { readConfiguration } from "../environment/read-arguments.ts"
import { readNamespacedFlags } from "../environment/read-namespaced-flags.ts"

/** The share of held-out items that the policy, sampled greedily, answers exactly right just now. */
export async function measureHeldOut(
  environmentClass: AnyEnvironmentClass,
  argv: readonly string[],
  context: { workingDirectory: string; environment: Readonly<Record<string, string | undefined>>; signal: AbortSignal },
): Promise<number> {
  const { flags } = readNamespacedFlags(argv)
  const configuration = await readConfiguration({
    about: environmentClass.about,
    flags,
    workingDirectory: context.workingDirectory,
  })
  const policy = await connectPolicy(configuration, context)
  try {
    const config = configuration.env
    const random = createRandom(config.seed ?? 0)
    const environment = createEnvironment(environmentClass, {
      config,
      logger: silentLogger,
      random: random.fork("environment"),
      tokenizer: policy.tokenizer,
      helpers: {},
    })
    await environment.setup()
    const result = await runEvaluation({
      environment,
      config,
      random,
      signal: context.signal,
      logger: silentLogger,
      step: 0,
      openSession: createSessionFactory({
        policy: policy.server,
        tokenizer: policy.tokenizer,
        config,
        maxTokenLen: () => -1,
      }),
    })
    await environment.cleanup()
    return result?.metrics["eval/percent_correct"] ?? 0
  } finally {
    await policy.close()
  }
}
