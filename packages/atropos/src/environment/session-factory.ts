import type { Tokenizer } from "../chat/tokenizer.ts"
import { compileTemplate } from "../chat/template/template.ts"
import type { TemplateInput } from "../chat/template/values/convert.ts"
import { AtroposError } from "../runtime/errors.ts"
import type { InferenceMessage, InferenceServer } from "../inference/inference-server.ts"
import { SingleTurnSession } from "../inference/session/single-turn-session.ts"
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
  const render = createRenderer(tokenizer)
  return ({ agent, split, signal, random }) => {
    const maxTokenLen = options.maxTokenLen()
    return new SingleTurnSession({
      server: typeof policy === "function" ? policy({ agent }) : policy,
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

/** A conversation with an open assistant turn as the tokenizer's chat template writes it. */
function createRenderer(tokenizer: Tokenizer): (messages: readonly InferenceMessage[]) => string {
  const source = tokenizer.chatTemplate
  const template = source === undefined ? undefined : compileTemplate(source)
  return (messages) => {
    if (template === undefined) {
      throw new AtroposError(
        "bad-tokenizer",
        `${tokenizer.name} has no chat template, so there is no way to write a conversation; give the prompt as a text`,
      )
    }
    return template.render({
      messages: messages as unknown as TemplateInput,
      add_generation_prompt: true,
      bos_token: tokenizer.bosToken ?? "",
      eos_token: tokenizer.eosToken ?? "",
    })
  }
}
