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

/** `weight` is e to the `logit`. */
interface Candidate {
  id: number
  logit: number
  weight: number
}

/** Logit of every token that is not a candidate; candidates have 0 to -4. */
const tailLogit = -12
const tailWeight = Math.exp(tailLogit)
const candidatesPerStep = 8
/** The logits that candidates may have, with their exponentials: nothing else would be slow here. */
const logitSteps = 256
const stepLogits = Array.from({ length: logitSteps }, (_, step) => (-4 * step) / logitSteps)
const stepWeights = stepLogits.map((logit) => Math.exp(logit))

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
  readonly #endOdds: number
  readonly #minTokens: number

  constructor(tokenizer: Tokenizer, options: { seed: number; meanTokens: number; minTokens?: number }) {
    this.tokenizer = tokenizer
    this.endId = tokenizer.eosTokenId ?? 0
    this.#texts = Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.decode([id]))
    this.#words = wordTokens(tokenizer, this.#texts)
    this.#seed = options.seed
    this.#minTokens = options.minTokens ?? 0
    const endProbability = 1 / Math.max(2, options.meanTokens)
    this.#endOdds = endProbability / (1 - endProbability)
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
    const endMasked = sampling.ignoreEos || position < Math.max(sampling.minTokens, this.#minTokens)
    if (topCount === 0 && isPlain(sampling) && (mode === "raw" || !endMasked)) {
      const id = forced ?? this.#draw(endMasked ? raw.filter((one) => one.id !== this.endId) : raw, tailWeight, random)
      return this.#report(id, raw, this.tokenizer.vocabularySize - raw.length, tailLogit, 0)
    }
    const biased = this.#bias(raw, sampling, endMasked)
    const greedy = sampling.temperature === 0
    // Greedy answers are scored as at temperature 1, like the real servers do.
    const tempered = greedy ? biased : temper(biased, sampling.temperature)
    const kept = truncate(tempered, sampling)
    const whole = kept === tempered
    const tail = greedy ? tailLogit : tailLogit / sampling.temperature
    const id =
      forced ?? (greedy ? (bestFirst(kept)[0]?.id ?? this.endId) : this.#draw(kept, whole ? Math.exp(tail) : 0, random))
    const shown = mode === "raw" ? raw : mode === "temperature" || greedy ? tempered : kept
    const tails = shown === kept && !whole ? 0 : this.tokenizer.vocabularySize - shown.length
    return this.#report(id, shown, tails, mode === "raw" ? tailLogit : tail, topCount)
  }

  /** Raw logprob of `id` after `state`, and the best `topCount` with their logprobs. */
  score(state: number, id: number, topCount: number): SampledToken {
    const candidates = this.#candidates(state)
    return this.#report(id, candidates, this.tokenizer.vocabularySize - candidates.length, tailLogit, topCount)
  }

  #report(id: number, shown: readonly Candidate[], tails: number, tail: number, topCount: number): SampledToken {
    let total = tails * (tail === tailLogit ? tailWeight : Math.exp(tail))
    let own = tail
    for (const candidate of shown) {
      total += candidate.weight
      if (candidate.id === id) own = candidate.logit
    }
    const logZ = Math.log(total)
    const top = topCount === 0 ? [] : bestFirst(shown).slice(0, topCount)
    return { id, logprob: own - logZ, top: top.map(({ id, logit }) => ({ id, logprob: logit - logZ })) }
  }

  /** Distinct candidates; a forced token is made one of them. */
  #candidates(state: number, forced?: number): Candidate[] {
    const candidates: Candidate[] = []
    let total = 0
    const add = (id: number, step: number): void => {
      const weight = stepWeights[step] ?? 1
      candidates.push({ id, logit: stepLogits[step] ?? 0, weight })
      total += weight
    }
    if (forced !== undefined) add(forced, mix(state ^ 77) >>> 25)
    let walk = state
    for (let k = candidates.length; k < candidatesPerStep - 1; k++) {
      walk = mix(walk + 0x6d2b79f5)
      const id = this.#words[walk % this.#words.length] ?? 0
      let known = false
      for (const candidate of candidates) known ||= candidate.id === id
      if (!known) add(id, mix(walk) >>> 24)
    }
    if (forced !== this.endId) {
      const weight = total * this.#endOdds
      candidates.push({ id: this.endId, logit: Math.log(weight), weight })
    }
    return candidates
  }

  #bias(candidates: Candidate[], sampling: StubSampling, endMasked: boolean): Candidate[] {
    if (!endMasked && sampling.logitBias.size === 0) return candidates
    const masked = (id: number): boolean => endMasked && id === this.endId
    const biased = candidates
      .filter(({ id }) => !masked(id))
      .map(({ id, logit }) => candidateOf(id, logit + (sampling.logitBias.get(id) ?? 0)))
    for (const [id, bias] of sampling.logitBias) {
      if (masked(id) || biased.some((candidate) => candidate.id === id)) continue
      biased.push(candidateOf(id, tailLogit + bias))
    }
    return biased
  }

  /** By weight; what is no candidate has `perTail` each, and is drawn as a word of any kind. */
  #draw(kept: readonly Candidate[], perTail: number, random: () => number): number {
    let total = (this.tokenizer.vocabularySize - kept.length) * perTail
    for (const { weight } of kept) total += weight
    let left = random() * total
    for (const { id, weight } of kept) {
      left -= weight
      if (left <= 0) return id
    }
    const any = perTail > 0 ? this.#words[Math.floor(random() * this.#words.length)] : undefined
    return any ?? kept[0]?.id ?? this.endId
  }
}

function candidateOf(id: number, logit: number): Candidate {
  return { id, logit, weight: Math.exp(logit) }
}

function bestFirst(candidates: readonly Candidate[]): Candidate[] {
  return candidates.toSorted((a, b) => b.logit - a.logit)
}

function isPlain(sampling: StubSampling): boolean {
  const { temperature, topP, topK, minP, logitBias } = sampling
  return temperature === 1 && topP >= 1 && topK <= 0 && minP <= 0 && logitBias.size === 0
}

function temper(candidates: Candidate[], temperature: number): Candidate[] {
  return temperature === 1 ? candidates : candidates.map(({ id, logit }) => candidateOf(id, logit / temperature))
}

/** top-k, then top-p and min-p over what is left; the same array when nothing is asked for. */
function truncate(candidates: Candidate[], sampling: StubSampling): Candidate[] {
  if (sampling.topK <= 0 && sampling.topP >= 1 && sampling.minP <= 0) return candidates
  const sorted = bestFirst(candidates)
  const few = sampling.topK > 0 ? sorted.slice(0, sampling.topK) : sorted
  const total = few.reduce((sum, { weight }) => sum + weight, 0)
  const best = few[0]?.weight ?? 0
  let mass = 0
  return few.filter(({ weight }) => {
    const before = mass
    mass += weight / total
    return before < sampling.topP && weight >= best * sampling.minP
  })
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
