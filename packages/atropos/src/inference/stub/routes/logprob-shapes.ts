import type { JsonObject } from "../../transport/read.ts"
import { tokensOf, type Piece } from "../generation.ts"
import type { SampledToken } from "../stub-model.ts"
import type { StubContext } from "./context.ts"

/** The parallel lists of `/v1/completions`; alternatives are keyed by text, the sampled token first. */
export function listLogprobs(context: StubContext, piece: Piece, spelledIds: boolean): JsonObject {
  const { sample, from, to } = piece
  const tokens = tokensOf(piece)
  const spell = (id: number): string => (spelledIds ? `token_id:${id}` : context.engine.model.textOf(id))
  const offsets: number[] = []
  let offset = sample.pieces.slice(0, from).join("").length
  for (const text of sample.pieces.slice(from, to)) {
    offsets.push(context.dialect === "sglang" ? -1 : offset)
    offset += text.length
  }
  return {
    text_offset: offsets,
    token_logprobs: tokens.map(({ logprob }) => logprob),
    tokens: tokens.map(({ id }) => spell(id)),
    top_logprobs: tokens.map((token) =>
      Object.fromEntries([
        [spell(token.id), token.logprob],
        ...token.top.map(({ id, logprob }) => [spell(id), logprob]),
      ]),
    ),
  }
}

/** One object a token, with its bytes; alternatives as many as asked for. */
export function chatLogprobs(context: StubContext, piece: Piece): JsonObject[] {
  const { model } = context.engine
  // Providers do not list the end of the turn.
  const hidden = context.dialect === "openai" || context.dialect === "openrouter"
  const tokens = tokensOf(piece).filter(({ id }) => !hidden || id !== model.endId)
  const entry = ({ id, logprob }: { id: number; logprob: number }): JsonObject => {
    const token = model.textOf(id)
    return { token, logprob, bytes: [...Buffer.from(token)] }
  }
  return tokens.map((token) => ({ ...entry(token), top_logprobs: token.top.map(entry) }))
}

/** vLLM's: per position an object from id to logprob and rank, null for the first; the prompt's own token is in it. */
export function promptLogprobs(context: StubContext, prompt: readonly number[], topK: number): (JsonObject | null)[] {
  const { model } = context.engine
  return scorePrompt(context, prompt, topK).map((token, index) => {
    if (index === 0) return null
    const entries = token.top.map(({ id, logprob }, rank) => ({ id, logprob, rank: rank + 1 }))
    const listed = entries.some(({ id }) => id === token.id)
    const own = { id: token.id, logprob: token.logprob, rank: topK + 1 }
    return Object.fromEntries(
      (listed ? entries : [own, ...entries]).map(({ id, logprob, rank }) => [
        String(id),
        { logprob, rank, decoded_token: model.textOf(id) },
      ]),
    )
  })
}

/** Each prompt token with its logprob after those before it; that of the first means nothing. */
export function scorePrompt(context: StubContext, prompt: readonly number[], topK: number): SampledToken[] {
  const { model } = context.engine
  let state = model.stateAfter([])
  return prompt.map((id) => {
    const scored = model.score(state, id, topK)
    state = model.advance(state, id)
    return scored
  })
}
