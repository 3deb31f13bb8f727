import type { LogprobsMode } from "../inference-server.ts"
import { mix, seededRandom, type SampledToken, type StubModel, type StubSampling } from "./stub-model.ts"

/** A request in no server's words. */
export interface StubRequest {
  promptIds: readonly number[]
  n: number
  maxTokens: number
  sampling: StubSampling
  stop: readonly string[]
  stopTokenIds: readonly number[]
  /** Alternatives per token. */
  topLogprobs: number
}

/** What a script may say in place of the model; missing parts are as usual. */
export interface ScriptedAnswer {
  text?: string
  /** In place of `text`. The end token is part of them or the answer ends by length. */
  tokenIds?: readonly number[]
}

/** One answer, whole. */
export interface Sample {
  tokens: SampledToken[]
  /** Text of the tokens without the end token, cut before a stop string. */
  text: string
  /** Text of every token by itself. */
  pieces: string[]
  finishReason: "stop" | "length" | "abort"
  /** The stop string or token that ended it; null for the end token and for the rest. */
  stopReason: string | number | null
  versions: { version: string; start: number; end: number }[]
}

/** Samples one of a request's answers; the version spans are the caller's to fill. */
export function sampleAnswer(
  model: StubModel,
  request: StubRequest,
  mode: LogprobsMode,
  draw: number,
  scripted?: ScriptedAnswer,
): Sample {
  const { sampling } = request
  const random = seededRandom(draw)
  const forced = scriptedIds(model, scripted)
  const limit = Math.max(0, request.maxTokens)
  const tokens: SampledToken[] = []
  const pieces: string[] = []
  let state = model.stateAfter(request.promptIds)
  let whole = ""
  for (let position = 0; position < limit; position++) {
    const wanted = forced?.[position]
    if (forced !== undefined && wanted === undefined) break
    const token = model.next(state, position, sampling, random, mode, request.topLogprobs, wanted)
    tokens.push(token)
    state = model.advance(state, token.id)
    const piece = model.tokenizer.decode([token.id])
    pieces.push(piece)
    if (token.id === model.endId && !sampling.ignoreEos) {
      return { tokens, text: whole, pieces, finishReason: "stop", stopReason: null, versions: [] }
    }
    if (request.stopTokenIds.includes(token.id)) {
      return { tokens, text: whole, pieces, finishReason: "stop", stopReason: token.id, versions: [] }
    }
    whole += piece
    const stop = request.stop.find((text) => whole.includes(text, whole.length - piece.length - text.length))
    if (stop !== undefined) {
      const text = whole.slice(0, whole.lastIndexOf(stop))
      return { tokens, text, pieces, finishReason: "stop", stopReason: stop, versions: [] }
    }
  }
  const text = model.tokenizer.decode(tokens.map((token) => token.id))
  return { tokens, text, pieces, finishReason: "length", stopReason: null, versions: [] }
}

function scriptedIds(model: StubModel, scripted: ScriptedAnswer | undefined): readonly number[] | undefined {
  if (scripted?.tokenIds !== undefined) return scripted.tokenIds
  if (scripted?.text !== undefined) return [...model.tokenizer.encode(scripted.text), model.endId]
  return undefined
}

/** The seed of a request's `index`-th answer: its own seed if it has one, else the stub's count of requests. */
export function drawSeed(stubSeed: number, request: StubRequest, count: number, index: number): number {
  const own = request.sampling.seed
  return mix(mix(stubSeed ^ (own === undefined ? mix(count) : mix(own + 0x51ed))) + index * 0x9e3779b1)
}
