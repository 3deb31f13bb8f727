import { TurnTokens } from "../chat/bridge/turn-tokens.ts"
import { createChatTemplate } from "../chat/chat-template.ts"
import type { Tokenizer } from "../chat/tokenizer.ts"
import type { InferenceServer } from "../inference/inference-server.ts"
import { openSession } from "../inference/session/recorded-session.ts"
import type { EnvironmentConfig } from "./config/environment-config.ts"
import type { OpenSession } from "./rollouts/run-rollout.ts"

type SessionPolicy = Pick<InferenceServer, "completeTokens" | "name">

export interface SessionFactoryOptions {
  /** What answers, perhaps another one for each session. */
  policy: SessionPolicy | ((opened: { agent: string }) => SessionPolicy)
  tokenizer: Tokenizer
  config: EnvironmentConfig
  /** The trainer's max_token_len, which every sequence has to stay below; 0 or less: no limit. */
  maxTokenLen: () => number
}

/** Opens the sessions of rollouts: budgets from the configuration and the trainer, seeds from the rollout's. */
export function createSessionFactory(options: SessionFactoryOptions): OpenSession {
  const { policy, tokenizer, config } = options
  const template = tokenizer.chatTemplate === undefined ? undefined : createChatTemplate(tokenizer)
  const turnTokens = new TurnTokens(tokenizer)
  return ({ agent, split, signal, random }) => {
    const maxTokenLen = options.maxTokenLen()
    return openSession({
      server: typeof policy === "function" ? policy({ agent }) : policy,
      tokenizer,
      ...(template === undefined ? {} : { template }),
      turnTokens,
      maxTokens: config.maxTokenLength,
      ...(maxTokenLen > 0 ? { contextTokens: maxTokenLen - 1 } : {}),
      split,
      signal,
      ...(config.seed === null ? {} : { seedOf: (call) => random.seedFor(`call-${call}`) }),
    })
  }
}
