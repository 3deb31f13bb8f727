import type { Random } from "./random.ts"

export interface PickOptions {
  /** 0 picks the likeliest token. */
  temperature: number
  /** 1 is off. */
  topP: number
  /** 0 is off. */
  topK: number
  /** 0 is off. */
  minP: number
  /** Never picked. */
  banned?: ReadonlySet<number> | undefined
}

/** Natural logs of softmax(logits): what the model itself says, before any sampling option. */
export function logSoftmax(logits: Float32Array): Float64Array {
  let highest = -Infinity
  for (const logit of logits) if (logit > highest) highest = logit
  let total = 0
  for (const logit of logits) total += Math.exp(logit - highest)
  const logTotal = highest + Math.log(total)
  const logprobs = new Float64Array(logits.length)
  for (let id = 0; id < logits.length; id++) logprobs[id] = (logits[id] ?? 0) - logTotal
  return logprobs
}

/** Draws one token id from log-probabilities, as the options shape them. */
export function pickToken(logprobs: Float64Array, options: PickOptions, random: Random): number {
  if (options.temperature === 0) return likeliest(logprobs, options.banned)
  const shaped = new Float64Array(logprobs.length)
  for (let id = 0; id < logprobs.length; id++) {
    const isBanned = options.banned?.has(id) === true
    shaped[id] = isBanned ? 0 : Math.exp((logprobs[id] ?? 0) / options.temperature)
  }
  if (options.topK > 0 || options.topP < 1 || options.minP > 0) keepLikeliest(shaped, options)
  let total = 0
  for (const share of shaped) total += share
  let left = random() * total
  let last = -1
  for (let id = 0; id < shaped.length; id++) {
    const share = shaped[id] ?? 0
    if (share === 0) continue
    last = id
    left -= share
    if (left < 0) return id
  }
  // Rounding can leave a sliver after the last token.
  return last === -1 ? likeliest(logprobs, options.banned) : last
}

function likeliest(logprobs: Float64Array, banned: ReadonlySet<number> | undefined): number {
  let best = -1
  for (const [id, logprob] of logprobs.entries()) {
    if (banned?.has(id) === true) continue
    if (best === -1 || logprob > (logprobs[best] ?? -Infinity)) best = id
  }
  return Math.max(best, 0)
}

/** Sets to zero what top-k, top-p (nucleus) and min-p leave out, each judged on the shares given. */
function keepLikeliest(shares: Float64Array, { topK, topP, minP }: PickOptions): void {
  const order = [...shares.keys()].toSorted((a, b) => (shares[b] ?? 0) - (shares[a] ?? 0))
  let total = 0
  for (const share of shares) total += share
  const least = minP * (shares[order[0] ?? 0] ?? 0)
  let before = 0
  for (const [rank, id] of order.entries()) {
    const share = shares[id] ?? 0
    if ((topK > 0 && rank >= topK) || (rank > 0 && before >= topP * total) || share < least) shares[id] = 0
    before += share
  }
}
