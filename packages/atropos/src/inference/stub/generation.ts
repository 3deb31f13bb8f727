import type { LogprobsMode } from "../inference-server.ts"
import { lengthBeforeStop } from "../stop-strings.ts"
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

/** What a script may say in place of the model. */
export interface ScriptedAnswer {
  text?: string
  /** In place of `text`; the end token is one of them, or the answer ends by length. */
  tokenIds?: readonly number[]
}

/** One answer; `tokens` and `pieces` grow together. */
export interface Sample {
  tokens: SampledToken[]
  /** Text of the tokens without the end token, cut before a stop string. */
  text: string
  /** Text of every token by itself. */
  pieces: string[]
  /** Strings that end it. */
  stop: readonly string[]
  finishReason: "stop" | "length" | "abort"
  /** The stop string or token that ended it; null for the end token and for the rest. */
  stopReason: string | number | null
  versions: { version: string; start: number; end: number }[]
}

/** Tokens `from` (included) to `to` (excluded) of an answer, as they come. */
export interface Piece {
  /** Of the answer among those of the request. */
  index: number
  sample: Sample
  from: number
  to: number
  /** Nothing follows. */
  last: boolean
}

/** The request that an answer is of: each has `n`, prompt by prompt. */
export function requestAt(requests: readonly StubRequest[], index: number): StubRequest {
  const request = requests[Math.floor(index / (requests[0]?.n ?? 1))]
  if (request === undefined) throw new RangeError(`there are ${requests.length} requests, none for answer ${index}`)
  return request
}

/** A whole answer as one piece. */
export function wholePiece(sample: Sample, index: number): Piece {
  return { index, sample, from: 0, to: sample.tokens.length, last: true }
}

export function tokensOf({ sample, from, to }: Piece): SampledToken[] {
  return sample.tokens.slice(from, to)
}

/**
 * Text of a piece; the last one has what is left of the whole text, which may be less than its tokens' or nothing.
 * What could start a stop string is held back, unless the server does not do that.
 */
export function textOf({ sample, from, to, last }: Piece, holdsBack = true): string {
  if (from === 0 && last) return sample.text
  const through = (end: number): string => {
    const text = sample.pieces.slice(0, end).join("")
    return holdsBack && sample.stop.length > 0 ? text.slice(0, lengthBeforeStop(text, sample.stop)) : text
  }
  return (last ? sample.text : through(to)).slice(through(from).length)
}

/** Samples one answer whole; the version spans are for the engine to fill. */
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
  const tokens: SampledToken[] = []
  const pieces: string[] = []
  const ended = (finishReason: Sample["finishReason"], stopReason: Sample["stopReason"], text: string): Sample => {
    return { tokens, text, pieces, stop: request.stop, finishReason, stopReason, versions: [] }
  }
  let state = model.stateAfter(request.promptIds)
  let whole = ""
  for (let position = 0; position < request.maxTokens; position++) {
    const wanted = forced?.[position]
    if (forced !== undefined && wanted === undefined) break
    const token = model.next(state, position, sampling, random, mode, request.topLogprobs, wanted)
    tokens.push(token)
    state = model.advance(state, token.id)
    const piece = model.textOf(token.id)
    pieces.push(piece)
    if (token.id === model.endId && !sampling.ignoreEos) return ended("stop", null, model.decode(tokens.slice(0, -1)))
    if (request.stopTokenIds.includes(token.id)) return ended("stop", token.id, model.decode(tokens.slice(0, -1)))
    if (request.stop.length === 0) continue
    whole += piece
    for (const stop of request.stop) {
      const at = whole.indexOf(stop, Math.max(0, whole.length - piece.length - stop.length))
      if (at !== -1) return ended("stop", stop, whole.slice(0, at))
    }
  }
  return ended("length", null, model.decode(tokens))
}

/** What there is of an answer after `count` tokens, when the server itself ends it. */
export function cutSample(model: StubModel, sample: Sample, count: number): Sample {
  const tokens = sample.tokens.slice(0, count)
  return {
    ...sample,
    tokens,
    pieces: sample.pieces.slice(0, count),
    text: model.decode(tokens),
    finishReason: "abort",
    stopReason: null,
  }
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
