import type { SamplingOptions } from "./inference-server.ts"

/** Sampling with nothing left to the server's own defaults. */
export interface ResolvedSampling {
  n: number
  maxTokens: number
  temperature: number
  topP: number
  topK: number
  minP: number
  repetitionPenalty: number
  presencePenalty: number
  frequencyPenalty: number
  topLogprobs: number
  rest: Pick<SamplingOptions, "stop" | "stopTokenIds" | "minTokens" | "ignoreEos" | "logitBias" | "seed" | "extra">
}

export function resolveSampling(options: SamplingOptions): ResolvedSampling {
  return {
    n: options.n ?? 1,
    maxTokens: options.maxTokens,
    temperature: options.temperature ?? 1,
    topP: options.topP ?? 1,
    topK: options.topK ?? 0,
    minP: options.minP ?? 0,
    repetitionPenalty: options.repetitionPenalty ?? 1,
    presencePenalty: options.presencePenalty ?? 0,
    frequencyPenalty: options.frequencyPenalty ?? 0,
    topLogprobs: options.topLogprobs ?? 0,
    rest: options,
  }
}

/** Fields of servers' own that bend the distribution: grammars and forced words. */
const bendingExtras = [
  "structured_outputs",
  "response_format",
  "guided_json",
  "guided_regex",
  "guided_choice",
  "guided_grammar",
  "json_schema",
  "regex",
  "ebnf",
  "structural_tag",
  "structured_outputs_regex",
  "choice",
  "allowed_token_ids",
  "bad_words",
  "custom_logit_processor",
  "logit_bias",
]

const plainValues: readonly (readonly [wireName: string, option: keyof SamplingOptions, plain: number])[] = [
  ["temperature", "temperature", 1],
  ["top_p", "topP", 1],
  ["min_p", "minP", 0],
  ["repetition_penalty", "repetitionPenalty", 1],
  ["presence_penalty", "presencePenalty", 0],
  ["frequency_penalty", "frequencyPenalty", 0],
]

/**
 * Wire names of the options under which raw, temperature and processed logprobs differ.
 * A trainer's importance ratios are right only if it applies the same ones, so requests that have any say so.
 */
export function samplingDepartures(options: Partial<SamplingOptions>): string[] {
  const extra = options.extra ?? {}
  const departures = plainValues
    .filter(([wireName, option, plain]) => (extra[wireName] ?? options[option] ?? plain) !== plain)
    .map(([wireName]) => wireName)
  // 0 and -1 both switch it off.
  const topK = extra["top_k"] ?? options.topK ?? 0
  if (typeof topK === "number" && topK > 0) departures.push("top_k")
  if (options.logitBias !== undefined && Object.keys(options.logitBias).length > 0) departures.push("logit_bias")
  if ((options.minTokens ?? 0) > 0) departures.push("min_tokens")
  for (const field of bendingExtras) {
    if (extra[field] !== undefined && extra[field] !== null && !departures.includes(field)) departures.push(field)
  }
  return departures
}
