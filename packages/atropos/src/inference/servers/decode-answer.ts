import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { SamplingOptions } from "../inference-server.ts"

/** Whether a sampled id is the end of an answer: the model's, or one of the request's. */
export function endsAnswer(tokenizer: Tokenizer, id: number | undefined, sampling: SamplingOptions): boolean {
  if (id === undefined) return false
  if (sampling.stopTokenIds?.includes(id)) return true
  return sampling.ignoreEos !== true && tokenizer.stopTokenIds.includes(id)
}

/** Text of an answer as servers give it: without the end token, cut before a stop string. */
export function decodeAnswer(tokenizer: Tokenizer, ids: readonly number[], sampling: SamplingOptions): string {
  const text = tokenizer.decode(endsAnswer(tokenizer, ids.at(-1), sampling) ? ids.slice(0, -1) : ids)
  const cuts = (sampling.stop ?? []).map((stop) => text.indexOf(stop)).filter((index) => index !== -1)
  return cuts.length === 0 ? text : text.slice(0, Math.min(...cuts))
}
