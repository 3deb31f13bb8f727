import { TurnTokens } from "../chat/bridge/turn-tokens.ts"
import { createChatTemplate } from "../chat/chat-template.ts"
import { toolCallFormatOf } from "../chat/tool-call-format.ts"
import { isToolCallFormat, toolCallFormats } from "../chat/tool-calls/formats.ts"
import type { Tokenizer } from "../chat/tokenizer.ts"
import type { InferenceServer } from "../inference/inference-server.ts"
import { createAnswerParser } from "../inference/session/answer-parser.ts"
import { openSession } from "../inference/session/recorded-session.ts"
import { AtroposError } from "../runtime/errors.ts"
import type { EnvironmentConfig } from "./config/environment-config.ts"
import type { Random } from "./random.ts"
import type { OpenSession } from "./rollouts/run-rollout.ts"

type SessionPolicy = Pick<InferenceServer, "completeTokens" | "name">

export interface SessionFactoryOptions {
  /** What answers, perhaps another one for each session. */
  policy: SessionPolicy | ((opened: { agent: string; random: Random; item?: unknown }) => SessionPolicy)
  tokenizer: Tokenizer
  config: EnvironmentConfig
  /** The trainer's max_token_len, which every sequence has to stay below; 0 or less: no limit. */
  maxTokenLen: () => number
  /** False where the servers tell no token ids: sequences are then the tokenizer's reading of texts. @default true */
  exact?: boolean
}

/** Opens the sessions of rollouts: budgets from the configuration and the trainer, seeds from the rollout's. */
export function createSessionFactory(options: SessionFactoryOptions): OpenSession {
  const { policy, tokenizer, config, exact = true } = options
  if (config.toolCallFormat !== null && !isToolCallFormat(config.toolCallFormat)) {
    throw new AtroposError(
      "bad-option",
      `--env.tool_call_format takes ${toolCallFormats.join(", ")}, received ${JSON.stringify(config.toolCallFormat)}`,
    )
  }
  const { plainContents } = config
  const template = tokenizer.chatTemplate === undefined ? undefined : createChatTemplate(tokenizer, { plainContents })
  const shown = template === undefined ? undefined : toolCallFormatOf(template.toolSource ?? template.source)
  // A template that says nothing of calls leaves them to the environment's prompt, where hermes is the custom.
  const parser = createAnswerParser({ toolCallFormat: config.toolCallFormat ?? shown ?? "hermes" })
  const turnTokens = new TurnTokens(tokenizer, { plainContents })
  return ({ agent, split, signal, random, item }) => {
    const maxTokenLen = options.maxTokenLen()
    return openSession({
      server: typeof policy === "function" ? policy({ agent, random, item }) : policy,
      tokenizer,
      ...(template === undefined ? {} : { template }),
      turnTokens,
      plainContents,
      parser,
      history: config.history,
      shared: config.sharedAnswers,
      exact,
      maxTokens: config.maxTokenLength,
      ...(maxTokenLen > 0 ? { contextTokens: maxTokenLen - 1 } : {}),
      split,
      signal,
      ...(config.seed === null ? {} : { seedOf: (call) => random.seedFor(`call-${call}`) }),
    })
  }
}
