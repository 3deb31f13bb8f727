import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { InferenceServer } from "../../inference/inference-server.ts"
import { createStubTokenizer } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import { type Logger, silentLogger } from "../../runtime/logger.ts"
import { type EnvironmentConfig, environmentConfig } from "../config/environment-config.ts"
import { withFieldNames } from "../config/keys.ts"
import type { EnvironmentClass } from "../environment-class.ts"
import type { Environment } from "../environment.ts"
import type { EvaluationResult } from "../evaluate/evaluation.ts"
import { runEvaluation } from "../evaluate/run-evaluation.ts"
import { createRandom } from "../random.ts"
import { collectItem, type CollectedItem } from "../rollouts/collect-item.ts"
import { createSessionFactory } from "../session-factory.ts"
import { ScriptedPolicy, type ScriptedCall } from "./scripted-policy.ts"

export interface TrialOptions<Config extends EnvironmentConfig> {
  /** What the policy answers; an error is a failure of the inference server. */
  answer: (call: ScriptedCall) => string | Error | Promise<string | Error>
  /** What other inference servers answer, by name. */
  helpers?: Readonly<Record<string, (call: ScriptedCall) => string | Error | Promise<string | Error>>>
  /** Takes items from `examples` and does without `setup`. @default false */
  skipSetup?: boolean
  /** Over the environment's own defaults. */
  config?: Partial<Config>
  /** The trainer's max_token_len. @default no limit */
  maxTokenLen?: number
  /** @default 1 */
  seed?: number
  tokenizer?: Tokenizer
  logger?: Logger
  signal?: AbortSignal
}

/** An environment on a scripted policy, for tests: no server, no model, no network. */
export interface Trial<Item, Config extends EnvironmentConfig> {
  environment: Environment<Item, Config>
  policy: ScriptedPolicy
  helpers: Readonly<Record<string, ScriptedPolicy>>
  /** The groups of one item, checked as before sending; of the next one when none is given. */
  collect(item?: Item): Promise<CollectedItem<Item>>
  evaluate(): Promise<EvaluationResult | undefined>
  close(): Promise<void>
}

/** Sets up an environment for a trial. */
export async function openTrial<Item, Config extends EnvironmentConfig>(
  environmentClass: EnvironmentClass<Item, Config>,
  options: TrialOptions<Config>,
): Promise<Trial<Item, Config>> {
  const { about } = environmentClass
  const { tokenizer = createStubTokenizer(), logger = silentLogger, signal = new AbortController().signal } = options
  const schema = about.config ?? environmentConfig
  // The class's own schema gives what its constructor takes.
  const config = schema.parse({
    ...withFieldNames(about.defaults ?? {}, Object.keys(schema.shape)),
    ...options.config,
  }) as Config
  const policy = new ScriptedPolicy({ tokenizer, answer: options.answer })
  const helpers = Object.fromEntries(
    Object.entries(options.helpers ?? {}).map(([name, answer]) => [name, new ScriptedPolicy({ tokenizer, answer })]),
  )
  const random = createRandom(options.seed ?? 1)
  const openSession = createSessionFactory({
    policy: ({ agent }) => policy.forSession(agent),
    tokenizer,
    config,
    maxTokenLen: () => options.maxTokenLen ?? -1,
  })
  const served: Readonly<Record<string, InferenceServer>> = helpers
  const environment = new environmentClass({
    config,
    logger,
    random: random.fork("environment"),
    tokenizer,
    helpers: served,
  })
  if (options.skipSetup !== true) await environment.setup()
  let items = 0
  return {
    environment,
    policy,
    helpers,
    collect: async (given) => {
      const item = given ?? (await environment.nextItem())
      if (item === undefined) throw new TypeError(`${about.name} has no more items`)
      return collectItem({
        environment,
        item,
        config,
        limits: { ...config, maxTokenLen: options.maxTokenLen ?? -1 },
        random: random.fork(`item-${items++}`),
        signal,
        logger,
        step: 0,
        openSession,
      })
    },
    evaluate: () =>
      runEvaluation({ environment, config, random: random.fork("evaluation"), signal, logger, step: 0, openSession }),
    close: () => environment.cleanup(),
  }
}
