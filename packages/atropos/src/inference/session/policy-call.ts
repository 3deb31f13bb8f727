// One request to the policy: its budget, and what has to be true of the answer before it is kept.
import { isTokenId, type TokenIdList } from "../../chat/token-ids.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type {
  FinishReason,
  InferenceServer,
  RequestOptions,
  SamplingOptions,
  TokenCompletion,
  Usage,
} from "../inference-server.ts"
import type { CallOptions, SampledWith } from "./session.ts"

export interface PolicyCallOptions {
  /** Default of `maxTokens`. */
  maxTokens: number
  /** Longest sequence that may come about, prompt and answer together. @default no limit */
  contextTokens?: number
  /** Defaults of the calls' sampling. */
  sampling?: Omit<CallOptions, "signal" | "tools" | "toolChoice" | "templateOptions">
}

/** The sampling of a call with a prompt of so many tokens; throws `no-room` when none may follow. */
export function samplingFor(
  promptTokens: number,
  call: CallOptions,
  options: PolicyCallOptions & { n: number; seed: number | undefined },
): SamplingOptions {
  const { contextTokens, n, seed } = options
  const room = (contextTokens ?? Number.POSITIVE_INFINITY) - promptTokens
  if (room < 1)
    throw new AtroposError(
      "no-room",
      `the prompt has ${promptTokens} tokens and a sequence may have ${contextTokens}: nothing is left for an answer`,
    )
  const { signal: _signal, tools: _tools, toolChoice: _choice, templateOptions: _options, ...own } = call
  const sampling = { ...options.sampling, ...own }
  return {
    ...sampling,
    maxTokens: Math.min(sampling.maxTokens ?? options.maxTokens, room),
    ...(n === 1 ? {} : { n }),
    ...(seed === undefined ? {} : { seed }),
  }
}

/** Samples by token ids; every choice comes with a logprob for each of its ids, or this throws. */
export async function callPolicy(
  server: Pick<InferenceServer, "completeTokens" | "name">,
  prompt: TokenIdList,
  sampling: SamplingOptions,
  options: RequestOptions,
): Promise<{ choices: TokenCompletion[]; sampledWith: SampledWith; usage: Usage }> {
  const { choices, logprobsMode, usage } = await server.completeTokens(prompt, sampling, options)
  const asked = askedFor(server.name, choices, sampling)
  for (const choice of asked) {
    checkIds(server.name, choice)
    checkLogprobs(server.name, choice)
  }
  return { choices: asked, sampledWith: { ...sampledWith(sampling), logprobsMode }, usage }
}

/** As many choices as were asked for, whole ones; what a server gives beyond them nobody would see. */
export function askedFor<Choice extends { finishReason: FinishReason }>(
  server: string,
  choices: readonly Choice[],
  { n = 1 }: SamplingOptions,
): Choice[] {
  if (choices.length < n)
    throw new AtroposError("inference-answer", `${server} gave ${choices.length} of ${n} choices`, { retryable: true })
  const asked = choices.slice(0, n)
  if (asked.some(({ finishReason }) => finishReason === "abort"))
    throw new AtroposError("inference-aborted", `${server} aborted the answer before its end`, { retryable: true })
  return asked
}

export function sampledWith(sampling: Partial<SamplingOptions>): SampledWith {
  const { temperature = 1, topP = 1, topK = 0 } = sampling
  return { temperature, topP, topK }
}

function checkIds(server: string, { tokenIds }: TokenCompletion): void {
  const bad = tokenIds.findIndex((id) => !isTokenId(id))
  if (bad < 0) return
  throw new AtroposError(
    "inference-answer",
    `${server} sampled ${String(tokenIds[bad])} at position ${bad}, which is no token id: ids are integers from 0 on`,
  )
}

function checkLogprobs(server: string, { tokenIds, logprobs }: TokenCompletion): void {
  const usable = logprobs.filter((logprob) => Number.isFinite(logprob)).length
  if (usable === tokenIds.length && logprobs.length === tokenIds.length) return
  throw new AtroposError(
    "logprobs-missing",
    `${server} sampled ${tokenIds.length} tokens and gave ${logprobs.length} logprobs (${usable} of them numbers): ` +
      "such a sample cannot be trained on; the server has to report one for every token",
    { facts: { tokens: tokenIds.length, logprobs: logprobs.length } },
  )
}
