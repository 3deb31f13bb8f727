import type { Tokenizer } from "../chat/tokenizer.ts"
import type { InferenceMessage, InferenceServer } from "../inference/inference-server.ts"
import { SingleTurnSession } from "../inference/session/single-turn-session.ts"
import type { EnvironmentConfig } from "./config/environment-config.ts"
import type { OpenSession } from "./rollouts/run-rollout.ts"

export interface SessionFactoryOptions {
  policy: Pick<InferenceServer, "completeTokens" | "name">
  tokenizer: Tokenizer
  config: EnvironmentConfig
  render: (messages: readonly InferenceMessage[]) => string
  /** The trainer's max_token_len, which every sequence has to stay below; 0 or less: no limit. */
  maxTokenLen: () => number
}

/** Opens the sessions of rollouts: budgets from the configuration and the trainer, seeds from the rollout's. */
export function createSessionFactory(options: SessionFactoryOptions): OpenSession {
  const { policy, tokenizer, config, render } = options
  return ({ split, signal, random }) => {
    const maxTokenLen = options.maxTokenLen()
    return new SingleTurnSession({
      server: policy,
      tokenizer,
      render,
      maxTokens: config.maxTokenLength,
      ...(maxTokenLen > 0 ? { contextTokens: maxTokenLen - 1 } : {}),
      split,
      signal,
      ...(config.seed === null ? {} : { seedOf: (call) => random.seedFor(`call-${call}`) }),
    })
  }
}
