import type { TokenIdList } from "../../chat/token-ids.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import type {
  InferenceServer,
  RequestOptions,
  SamplingOptions,
  TokenCompletions,
} from "../../inference/inference-server.ts"
import type { StubQuestion } from "../../inference/stub/model-stub.ts"
import type { Environment } from "../environment.ts"
import type { Random } from "../random.ts"

/** The field of a request in which a stub is told what to say. */
const field = "stub_says"

type SessionPolicy = Pick<InferenceServer, "completeTokens" | "name">

/** What a stub says because its request told it to; undefined leaves the answer to its model. */
export function toldAnswer({ body }: Pick<StubQuestion, "body">): string | undefined {
  const told = body[field]
  return typeof told === "string" ? told : undefined
}

/**
 * The stub as the policy of one rollout: in half of the rollouts it says what a perfect policy would in every turn, so
 * that the rollouts of a group differ. An environment that names no gold answer gets what the stub's model says.
 */
export function goldNowAndThen(
  policy: SessionPolicy,
  environment: Pick<Environment, "goldAnswer"> & { tokenizer: Pick<Tokenizer, "decode"> },
  { item, random }: { item?: unknown; random: Random },
): SessionPolicy {
  if (item === undefined || random.fork("gold").next() < 0.5) return policy
  let turns = 0
  return {
    name: policy.name,
    completeTokens(
      prompt: TokenIdList,
      sampling: SamplingOptions,
      options?: RequestOptions,
    ): Promise<TokenCompletions> {
      const gold = environment.goldAnswer(item, { turn: turns++, prompt: environment.tokenizer.decode(prompt) })
      if (gold === undefined) return policy.completeTokens(prompt, sampling, options)
      return policy.completeTokens(prompt, { ...sampling, extra: { ...sampling.extra, [field]: gold } }, options)
    },
  }
}
