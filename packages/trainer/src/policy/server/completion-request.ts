// What `/v1/completions` takes, with vLLM's names, defaults, bounds and words of refusal.
import { z } from "zod"

import { ApiError } from "./api-error.ts"

const tokenId = z.int()
const stringOrStrings = z.union([z.string(), z.array(z.string())])

export const completionRequestSchema = z.looseObject({
  model: z.string().nullish().describe("name of the model, as in /v1/models"),
  prompt: z
    .union([z.array(tokenId), z.string(), z.array(z.array(tokenId)), z.array(z.string())])
    .describe("token ids or text, or a list of either"),
  max_tokens: z.int().nullish().describe("most tokens of an answer, 16 by default"),
  n: z.int().nullish().describe("answers per prompt"),
  temperature: z.number().nullish().describe("0 is greedy"),
  top_p: z.number().nullish(),
  top_k: z.int().nullish().describe("0 or -1 is off"),
  min_p: z.number().nullish(),
  seed: z.int().nullish().describe("the same seed gives the same answers"),
  stop: stringOrStrings.nullish().describe("texts that end an answer"),
  stop_token_ids: z.array(tokenId).nullish().describe("token ids that end an answer, beside the end token"),
  include_stop_str_in_output: z.boolean().nullish(),
  ignore_eos: z.boolean().nullish(),
  min_tokens: z.int().nullish().describe("no end token before so many tokens"),
  logprobs: z.int().nullish().describe("likeliest tokens to report beside the sampled one; 0 is the sampled one only"),
  prompt_logprobs: z.int().nullish().describe("the same for each token of the prompt, -1 for all tokens"),
  return_token_ids: z.boolean().nullish(),
  return_tokens_as_token_ids: z.boolean().nullish(),
  return_weight_versions: z.boolean().nullish(),
  skip_special_tokens: z.boolean().nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).nullish(),
})

export type CompletionRequest = z.output<typeof completionRequestSchema>

/** Refused rather than ignored: an answer without them would be another one than was asked for. */
const unsupported = "echo logit_bias allowed_token_ids bad_words structured_outputs logprob_token_ids suffix".split(" ")

export function parseCompletionRequest(body: unknown, modelName: string): CompletionRequest {
  const parsed = completionRequestSchema.safeParse(body)
  if (!parsed.success) {
    const issue = parsed.error.issues[0]
    const place = ["body", ...(issue?.path ?? [])].join(".")
    throw new ApiError(400, `1 validation error:\n  ${place}: ${issue?.message ?? "not valid"}`, place, "Bad Request")
  }
  const request = parsed.data
  if (request.model != null && request.model !== modelName) {
    throw new ApiError(404, `The model \`${request.model}\` does not exist. Valid aliases: ${modelName}.`, "model")
  }
  const refuse = (field: string, problem: string, value: unknown): never => {
    throw new ApiError(
      400,
      `${field} ${problem}, got ${String(value)}. (parameter=${field}, value=${String(value)})`,
      field,
    )
  }
  for (const field of unsupported) {
    const value = request[field]
    if (value !== undefined && value !== null && value !== false) {
      throw new ApiError(400, `the embedded policy does not support ${field}; leave it out`, field)
    }
  }
  for (const field of ["repetition_penalty", "presence_penalty", "frequency_penalty"]) {
    const off = field === "repetition_penalty" ? 1 : 0
    if (request[field] != null && request[field] !== off) {
      throw new ApiError(400, `the embedded policy does not support ${field}; leave it out or send ${off}`, field)
    }
  }
  const { n, temperature, top_p: topP, top_k: topK, min_p: minP, max_tokens: maxTokens } = request
  if (n != null && n < 1) refuse("n", "must be at least 1", n)
  if (n != null && n > 16_384) refuse("n", "must be at most 16384", n)
  if (temperature != null && temperature < 0) refuse("temperature", "must be non-negative", temperature)
  if (topP != null && (topP <= 0 || topP > 1)) refuse("top_p", "must be in (0, 1]", topP)
  if (topK != null && topK < -1) refuse("top_k", "must be 0 (disable), or at least 1", topK)
  if (minP != null && (minP < 0 || minP > 1)) refuse("min_p", "must be in [0, 1]", minP)
  if (maxTokens != null && maxTokens < 1) refuse("max_tokens", "must be at least 1", maxTokens)
  for (const [field, kind] of [
    ["logprobs", "sample"],
    ["prompt_logprobs", "prompt"],
  ] as const) {
    const value = request[field]
    if (value == null || value <= 20) continue
    const words = `Requested ${kind} logprobs of ${value}, which is greater than max allowed: 20 (parameter=${field}, value=${value})`
    throw new ApiError(400, words, field)
  }
  if (request.prompt_logprobs != null && request.stream === true) {
    const words = "`prompt_logprobs` are not available when `stream=True`. (parameter=prompt_logprobs)"
    throw new ApiError(400, words, "prompt_logprobs")
  }
  return request
}
