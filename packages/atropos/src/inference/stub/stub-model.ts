import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { LogprobsMode } from "../inference-server.ts"

/** What the stub's sampler looks at; penalties are taken and have no effect. */
export interface StubSampling {
  temperature: number
  topP: number
  topK: number
  minP: number
  minTokens: number
  ignoreEos: boolean
  logitBias: ReadonlyMap<number, number>
  seed: number | undefined
}

export interface SampledToken {
  id: number
  logprob: number
  /** The likeliest candidates, best first; the sampled token is not always among the first. */
  top: readonly { id: number; logprob: number }[]
}

interface Candidate {
  id: number
  logit: number
}

/** Logit of every token that is not a candidate; candidates have 0 to -4. */
const tailLogit = -12
const candidatesPerStep = 8

/**
 * A language model of no weights: the next token's distribution is a hash of the tokens before it. One context
 * always has one distribution, by whatever route it is asked, so sampled logprobs, prompt logprobs and the
 * three logprobs modes agree with each other as they do on a real server.
 */
export class StubModel {
  readonly tokenizer: Tokenizer
  readonly endId: number
  readonly #words: readonly number[]
  /** Text of every token by itself; halves of characters are what decoding makes of them. */
  readonly #texts: readonly string[]
  readonly #seed: number
  readonly #endLogOdds: number

  constructor(tokenizer: Tokenizer, options: { seed: number; meanTokens: number }) {
    this.tokenizer = tokenizer
    this.endId = tokenizer.eosTokenId ?? 0
    this.#texts = Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.decode([id]))
    this.#words = wordTokens(tokenizer, this.#texts)
    this.#seed = options.seed
    const endProbability = 1 / Math.max(2, options.meanTokens)
    this.#endLogOdds = Math.log(endProbability / (1 - endProbability))
  }

  textOf(id: number): string {
    return this.#texts[id] ?? ""
  }

  decode(tokens: readonly SampledToken[]): string {
    const text = tokens.map(({ id }) => this.textOf(id)).join("")
    // Bytes of one character may be spread over tokens.
    return text.includes("\uFFFD") ? this.tokenizer.decode(tokens.map(({ id }) => id)) : text
  }

  /** The state after some tokens; feed it to `candidates` and grow it with `advance`. */
  stateAfter(ids: readonly number[]): number {
    let state = mix(this.#seed)
    for (const id of ids) state = mix(state ^ Math.imul(id + 1, 0x9e3779b1))
    return state
  }

  advance(state: number, id: number): number {
    return mix(state ^ Math.imul(id + 1, 0x9e3779b1))
  }

  /** Samples the token after `state`, or takes `forced`, and reports it as a server in `mode` would. */
  next(
    state: number,
    position: number,
    sampling: StubSampling,
    random: () => number,
    mode: LogprobsMode,
    topCount: number,
    forced?: number,
  ): SampledToken {
    const raw = this.#candidates(state, forced)
    const biased = this.#bias(raw, sampling, position)
    const greedy = sampling.temperature === 0
    // Greedy answers are scored as at temperature 1, like the real servers do.
    const tempered = greedy ? biased : temper(biased, sampling.temperature)
    const kept = truncate(tempered, sampling)
    const id = forced ?? this.#draw(greedy ? kept.slice(0, 1) : kept, sampling, random)
    const shown = mode === "raw" ? raw : mode === "temperature" || greedy ? tempered : kept
    const tails = shown === kept && kept !== tempered ? 0 : this.tokenizer.vocabularySize - shown.length
    const tail = mode === "raw" || greedy ? tailLogit : tailLogit / sampling.temperature
    const logZ = logSum(shown, tails, tail)
    const own = shown.find((candidate) => candidate.id === id)?.logit ?? tail
    return {
      id,
      logprob: own - logZ,
      top: topCount === 0 ? [] : shown.slice(0, topCount).map(({ id, logit }) => ({ id, logprob: logit - logZ })),
    }
  }

  /** Raw logprob of `id` after `state`, and the best `topCount` with their logprobs. */
  score(state: number, id: number, topCount: number): SampledToken {
    const candidates = this.#candidates(state)
    const logZ = logSum(candidates, this.tokenizer.vocabularySize - candidates.length, tailLogit)
    const own = candidates.find((candidate) => candidate.id === id)?.logit ?? tailLogit
    return {
      id,
      logprob: own - logZ,
      top: candidates.slice(0, topCount).map(({ id, logit }) => ({ id, logprob: logit - logZ })),
    }
  }

  /** Distinct candidates, best first; a forced token is made one of them. */
  #candidates(state: number, forced?: number): Candidate[] {
    const candidates: Candidate[] = forced === undefined ? [] : [{ id: forced, logit: -2 * unit(mix(state ^ 77)) }]
    let total = 0
    let walk = state
    for (let k = candidates.length; k < candidatesPerStep - 1; k++) {
      walk = mix(walk + 0x6d2b79f5)
      const id = this.#words[walk % this.#words.length] ?? 0
      if (candidates.some((candidate) => candidate.id === id)) continue
      const logit = -4 * unit(mix(walk))
      candidates.push({ id, logit })
    }
    for (const { logit } of candidates) total += Math.exp(logit)
    if (forced !== this.endId) candidates.push({ id: this.endId, logit: Math.log(total) + this.#endLogOdds })
    return candidates.toSorted((a, b) => b.logit - a.logit)
  }

  #bias(candidates: Candidate[], sampling: StubSampling, position: number): Candidate[] {
    const endMasked = sampling.ignoreEos || position < sampling.minTokens
    if (!endMasked && sampling.logitBias.size === 0) return candidates
    const biased = candidates
      .filter(({ id }) => !(endMasked && id === this.endId))
      .map(({ id, logit }) => ({ id, logit: logit + (sampling.logitBias.get(id) ?? 0) }))
    for (const [id, bias] of sampling.logitBias) {
      if (biased.some((candidate) => candidate.id === id) || (endMasked && id === this.endId)) continue
      biased.push({ id, logit: tailLogit + bias })
    }
    return biased.toSorted((a, b) => b.logit - a.logit)
  }

  #draw(kept: readonly Candidate[], sampling: StubSampling, random: () => number): number {
    const first = kept[0]?.id ?? this.endId
    if (kept.length === 1) return first
    const truncated = sampling.topP < 1 || sampling.topK > 0 || sampling.minP > 0
    const tails = truncated ? 0 : this.tokenizer.vocabularySize - kept.length
    const tail = tailLogit / sampling.temperature
    let left = random() * Math.exp(logSum(kept, tails, tail))
    for (const { id, logit } of kept) {
      left -= Math.exp(logit)
      if (left <= 0) return id
    }
    return truncated ? first : (this.#words[Math.floor(random() * this.#words.length)] ?? first)
  }
}

function temper(candidates: Candidate[], temperature: number): Candidate[] {
  if (temperature === 1) return candidates
  return candidates.map(({ id, logit }) => ({ id, logit: logit / temperature }))
}

/** top-k, then top-p and min-p over what is left; the same array when nothing is cut. */
function truncate(candidates: Candidate[], sampling: StubSampling): Candidate[] {
  if (sampling.topK <= 0 && sampling.topP >= 1 && sampling.minP <= 0) return candidates
  const few = sampling.topK > 0 ? candidates.slice(0, sampling.topK) : candidates
  const logZ = logSum(few, 0, 0)
  const best = few[0]?.logit ?? 0
  let mass = 0
  return few.filter(({ logit }) => {
    const before = mass
    mass += Math.exp(logit - logZ)
    return before < sampling.topP && logit - best >= Math.log(Math.max(sampling.minP, 1e-30))
  })
}

function logSum(candidates: readonly Candidate[], tails: number, tail: number): number {
  let sum = tails * Math.exp(tail)
  for (const { logit } of candidates) sum += Math.exp(logit)
  return Math.log(sum)
}

/** Tokens that are text by themselves: no special ones and no halves of a character. */
function wordTokens(tokenizer: Tokenizer, texts: readonly string[]): number[] {
  return texts.flatMap((text, id) =>
    !tokenizer.isAddedToken(id) && /^[ \n]?[\p{L}\p{P}\p{N}]+$/u.test(text) ? [id] : [],
  )
}

/** A 32-bit mixer (full avalanche), as an unsigned number. */
export function mix(value: number): number {
  let h = value | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

function unit(hash: number): number {
  return hash / 0x1_0000_0000
}

/** Numbers in [0, 1) of a seed. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    return unit(mix(state))
  }
}
