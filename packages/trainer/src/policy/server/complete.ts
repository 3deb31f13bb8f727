// One `/v1/completions` request: prompts in, vLLM's answer out.
import type { Tokenizer } from "atropos-rl"

import type { Policy, Sample } from "../policy.ts"
import { ApiError } from "./api-error.ts"
import type { CompletionRequest } from "./completion-request.ts"

/** Samples that may wait at once; more are refused with a 503. */
const maxWaiting = 16_384

export interface CompletionContext {
  policy: Policy
  tokenizer: Tokenizer
  modelName: string
  signal: AbortSignal
  newId: () => string
  now: () => number
}

interface CompletionAnswer {
  id: string
  object: "text_completion"
  created: number
  model: string
  choices: object[]
  usage: object
  service_tier: null
  system_fingerprint: null
  kv_transfer_params: null
}

/** The answer as server-sent events, each choice in one piece: nothing is gained by sending few tokens singly. */
export function toEvents({ choices, usage, ...head }: CompletionAnswer, withUsage: boolean): string {
  const chunks: object[] = choices.map((choice) => ({ ...head, choices: [choice] }))
  if (withUsage) chunks.push({ ...head, choices: [], usage })
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("")}data: [DONE]\n\n`
}

export async function complete(request: CompletionRequest, context: CompletionContext): Promise<CompletionAnswer> {
  const { policy, tokenizer } = context
  const prompts = readPrompts(request, context)
  const n = request.n ?? 1
  if (policy.load.waiting + prompts.length * n > maxWaiting) {
    throw new ApiError(503, `${policy.load.waiting} samples wait already, at most ${maxWaiting} may: try again later`)
  }
  const stops = [request.stop ?? []].flat().filter((stop) => stop !== "")
  const endToken = tokenizer.eosTokenId
  const endTokens = endToken === undefined || request.ignore_eos === true ? [] : [endToken]
  const answers = await Promise.all(
    prompts.map((prompt) =>
      policy.sample({
        prompt,
        n,
        maxTokens: request.max_tokens ?? 16,
        temperature: request.temperature ?? 1,
        topP: request.top_p ?? 1,
        topK: Math.max(request.top_k ?? 0, 0),
        minP: request.min_p ?? 0,
        minTokens: request.min_tokens ?? 0,
        stopTokenIds: new Set([...endTokens, ...(request.stop_token_ids ?? [])]),
        seed: request.seed ?? undefined,
        stopWhen:
          stops.length === 0
            ? undefined
            : (tokenIds) => stops.find((stop) => tokenizer.decode(tokenIds).includes(stop)),
        alternatives: Math.max(request.logprobs ?? 0, 0),
        signal: context.signal,
      }),
    ),
  )
  const promptLogprobs = await scorePrompts(prompts, request.prompt_logprobs, context)
  const choices = prompts.flatMap((prompt, promptIndex) =>
    (answers[promptIndex] ?? []).map((sample, sampleIndex) => ({
      ...toChoice(request, context.tokenizer, prompt, sample, promptIndex * n + sampleIndex),
      prompt_logprobs: promptLogprobs?.[promptIndex] ?? null,
    })),
  )
  const promptTokens = prompts.reduce((total, prompt) => total + prompt.length, 0)
  const completionTokens = answers.flat().reduce((total, sample) => total + sample.tokenIds.length, 0)
  return {
    id: `cmpl-${context.newId()}`,
    object: "text_completion",
    created: Math.floor(context.now() / 1000),
    model: context.modelName,
    choices,
    service_tier: null,
    system_fingerprint: null,
    usage: {
      prompt_tokens: promptTokens,
      total_tokens: promptTokens + completionTokens,
      completion_tokens: completionTokens,
      prompt_tokens_details: null,
    },
    kv_transfer_params: null,
  }
}

function readPrompts({ prompt }: CompletionRequest, { policy, tokenizer }: CompletionContext): number[][] {
  const isIds = (value: unknown): value is number[] => Array.isArray(value) && typeof value[0] === "number"
  const list = typeof prompt === "string" || isIds(prompt) ? [prompt] : prompt
  const prompts = list.map((one) => (typeof one === "string" ? tokenizer.encode(one) : (one as number[])))
  if (prompts.length === 0 || prompts.some((ids) => ids.length === 0)) {
    throw new ApiError(400, "You must pass at least one prompt (parameter=prompt)", "prompt")
  }
  if (prompts.length > 1024)
    throw new ApiError(400, `at most 1024 prompts may be sent, got ${prompts.length}`, "prompt")
  const { contextLength, vocabularySize } = policy.config
  for (const ids of prompts) {
    const foreign = ids.find((id) => id < 0 || id >= vocabularySize)
    if (foreign !== undefined) throw new ApiError(400, `Token id ${foreign} is out of vocabulary`)
    if (ids.length >= contextLength) {
      throw new ApiError(
        400,
        `This model's maximum context length is ${contextLength} tokens. However, your prompt has ${ids.length} ` +
          "tokens, which leaves no room for an answer. Please reduce the length of the prompt.",
        "input_tokens",
      )
    }
  }
  return prompts
}

type PromptLogprobs = (Record<string, { logprob: number; rank: number; decoded_token: string }> | null)[]

/** For each token of each prompt its logprob and rank, and those of the likeliest tokens in its place. */
async function scorePrompts(
  prompts: readonly number[][],
  alternatives: number | null | undefined,
  { policy, tokenizer }: CompletionContext,
): Promise<PromptLogprobs[] | undefined> {
  if (alternatives == null) return undefined
  const scored: PromptLogprobs[] = []
  for (const prompt of prompts) {
    const after = await policy.score(prompt)
    const positions = prompt.slice(1).map((token, index) => {
      const logprobs = after[index] ?? new Float64Array()
      const order = [...logprobs.keys()].toSorted((a, b) => (logprobs[b] ?? 0) - (logprobs[a] ?? 0))
      const told = new Set([token, ...order.slice(0, alternatives === -1 ? order.length : alternatives)])
      const describe = (id: number): object => ({
        logprob: logprobs[id] ?? 0,
        rank: order.indexOf(id) + 1,
        decoded_token: tokenizer.decode([id]),
      })
      return Object.fromEntries(Array.from(told, (id) => [String(id), describe(id)])) as PromptLogprobs[number]
    })
    scored.push([null, ...positions])
  }
  return scored
}

function toChoice(
  request: CompletionRequest,
  tokenizer: Tokenizer,
  prompt: readonly number[],
  sample: Sample,
  index: number,
): object {
  const name = (id: number): string =>
    request.return_tokens_as_token_ids === true ? `token_id:${id}` : tokenizer.decode([id])
  return {
    index,
    text: visibleText(request, tokenizer, sample),
    logprobs: request.logprobs == null ? null : toLogprobs(sample, name),
    finish_reason: sample.finishReason,
    stop_reason: sample.stopReason === tokenizer.eosTokenId ? null : sample.stopReason,
    token_ids: request.return_token_ids === true ? sample.tokenIds : null,
    prompt_token_ids: request.return_token_ids === true ? prompt : null,
    routed_experts: null,
    weight_versions:
      request.return_weight_versions === true
        ? sample.versions.map(({ version, start, end }) => ({ version: String(version), start, end }))
        : null,
  }
}

/** The text without the token that ended it, and cut before a stop text; ids and logprobs keep all of it. */
function visibleText(request: CompletionRequest, tokenizer: Tokenizer, sample: Sample): string {
  const stopped = typeof sample.stopReason === "number"
  const ids = stopped ? sample.tokenIds.slice(0, -1) : sample.tokenIds
  const shown = request.skip_special_tokens === false ? ids : ids.filter((id) => !tokenizer.isAddedToken(id))
  const text = tokenizer.decode(shown)
  if (typeof sample.stopReason !== "string") return text
  const at = text.indexOf(sample.stopReason)
  if (at === -1) return text
  return text.slice(0, request.include_stop_str_in_output === true ? at + sample.stopReason.length : at)
}

function toLogprobs(sample: Sample, name: (id: number) => string): object {
  const tokens = sample.tokenIds.map(name)
  let offset = 0
  return {
    text_offset: tokens.map((token) => (offset += token.length) - token.length),
    token_logprobs: sample.logprobs,
    tokens,
    top_logprobs: sample.tokenIds.map((id, position) =>
      Object.fromEntries([
        [name(id), sample.logprobs[position]],
        ...(sample.alternatives[position] ?? []).map(({ tokenId, logprob }) => [name(tokenId), logprob]),
      ]),
    ),
  }
}
