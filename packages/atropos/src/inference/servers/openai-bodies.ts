import type { ChatRequest, RequestOptions, SamplingOptions } from "../inference-server.ts"
import { resolveSampling } from "../sampling.ts"

/** All sampling parameters by name, for the OpenAI routes of vLLM and SGLang, which fill gaps from the model's files. */
export function namedSampling(options: SamplingOptions): Record<string, unknown> {
  const sampling = resolveSampling(options)
  return {
    n: sampling.n,
    max_tokens: sampling.maxTokens,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    top_k: sampling.topK,
    min_p: sampling.minP,
    repetition_penalty: sampling.repetitionPenalty,
    presence_penalty: sampling.presencePenalty,
    frequency_penalty: sampling.frequencyPenalty,
    ...furtherSampling(options),
  }
}

/** Only what the caller gave, for providers that refuse what they do not know. */
export function givenSampling(options: Partial<SamplingOptions>): Record<string, unknown> {
  return withoutUndefined({
    n: options.n === 1 ? undefined : options.n,
    max_tokens: options.maxTokens,
    temperature: options.temperature,
    top_p: options.topP,
    top_k: options.topK,
    min_p: options.minP,
    repetition_penalty: options.repetitionPenalty,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    ...furtherSampling(options),
  })
}

/** Everything named on training requests; an evaluation without wishes is left to the model's own defaults. */
export function chatSampling(sampling: Partial<SamplingOptions>, options: RequestOptions): Record<string, unknown> {
  if (options.split === "eval") return givenSampling(sampling)
  const { max_tokens: limit, ...named } = namedSampling({ maxTokens: 0, ...sampling })
  return sampling.maxTokens === undefined ? named : { ...named, max_tokens: limit }
}

function furtherSampling(options: Partial<SamplingOptions>): Record<string, unknown> {
  return withoutUndefined({
    stop: options.stop,
    stop_token_ids: options.stopTokenIds,
    min_tokens: options.minTokens,
    ignore_eos: options.ignoreEos,
    logit_bias: options.logitBias,
    seed: options.seed,
  })
}

/** What of a chat is not sampling. */
export function chatFields(request: ChatRequest): Record<string, unknown> {
  return withoutUndefined({
    messages: request.messages,
    tools: request.tools,
    tool_choice: request.toolChoice,
    chat_template_kwargs: request.templateOptions,
  })
}

function withoutUndefined(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
