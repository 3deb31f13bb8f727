// The transformer: Llama's block (RMSNorm before each part, no biases) with two departures that suit a tiny model.
// The MLP's activation is a squared ReLU, which costs no exponential; positions are learned vectors, with which a
// task over few positions is learned in a third of the steps that rotary ones take.
// Arrays are owned: a function consumes its arguments, `x.ref` keeps `x` for later use.
import { nn, numpy as np } from "@jax-js/jax"

import type { PolicyConfig } from "./config.ts"
import type { Weights } from "./weights.ts"

export type Parameters = Record<string, np.Array>

/** One position's (or sequence's) keys and values of a layer: [rows, positions, heads, head size]. */
export type KeysAndValues = { keys: np.Array; values: np.Array }

export function toParameters(weights: Weights): Parameters {
  const parameters: Parameters = {}
  for (const [name, { shape, data }] of weights.tensors) parameters[name] = np.array(data, { shape: [...shape] })
  return parameters
}

/**
 * Logits of the next token at every position of right-padded sequences: [rows, positions] to
 * [rows, positions, vocabulary]. Padding cannot reach earlier positions, since attention looks back only.
 */
export function forward(
  config: PolicyConfig,
  parameters: Parameters,
  tokens: np.Array,
): { logits: np.Array; cache: KeysAndValues[] } {
  const positions = tokens.shape[1] ?? 0
  const future = np.array(
    Float32Array.from({ length: positions * positions }, (_, index) =>
      index % positions > Math.floor(index / positions) ? blocked : 0,
    ),
    { shape: [positions, positions] },
  )
  const cache: KeysAndValues[] = []
  const places = np.arange(positions, undefined, undefined, { dtype: np.int32 })
  const logits = transform(config, parameters, tokens, places, ({ queries, keys, values }) => {
    cache.push({ keys: keys.ref, values: values.ref })
    const scores = np
      .matmul(queries.transpose([0, 2, 1, 3]), keys.transpose([0, 2, 3, 1]))
      .mul(1 / Math.sqrt(config.width / config.heads))
      .add(future.ref)
    return np.matmul(nn.softmax(scores, -1), values.transpose([0, 2, 1, 3])).transpose([0, 2, 1, 3])
  })
  future.dispose()
  return { logits, cache }
}

/**
 * One decoding step: the token of each row at its own position, over cached keys and values of the positions
 * before it ([rows, cached positions, heads, head size]). Returns logits [rows, vocabulary] and the step's own
 * keys and values, for the caller to put in the cache.
 */
export function decode(
  config: PolicyConfig,
  parameters: Parameters,
  tokens: np.Array,
  positions: np.Array,
  cached: KeysAndValues[],
): { logits: np.Array; cache: KeysAndValues[] } {
  const rows = tokens.shape[0] ?? 0
  const length = cached[0]?.keys.shape[1] ?? 0
  const unused = np
    .where(
      np.arange(length, undefined, undefined, { dtype: np.int32 }).less(positions.ref.reshape([rows, 1])),
      0,
      blocked,
    )
    .reshape([rows, 1, 1, length])
  const cache: KeysAndValues[] = []
  const places = positions.reshape([rows, 1])
  const logits = transform(config, parameters, tokens.reshape([rows, 1]), places, ({ queries, keys, values }) => {
    const layer = cached[cache.length]
    if (layer === undefined) throw new RangeError(`the cache has ${cache.length} layers, the policy more`)
    cache.push({ keys: keys.ref, values: values.ref })
    const scale = 1 / Math.sqrt(config.width / config.heads)
    const rowQueries = queries.transpose([0, 2, 1, 3])
    const past = np
      .matmul(rowQueries.ref, layer.keys.transpose([0, 2, 3, 1]))
      .mul(scale)
      .add(unused.ref)
    const now = np.matmul(rowQueries, keys.transpose([0, 2, 3, 1])).mul(scale)
    const shares = nn.softmax(np.concatenate([past, now], -1), -1)
    const fromPast = np.matmul(shares.ref.slice([], [], [], [0, length]), layer.values.transpose([0, 2, 1, 3]))
    const fromNow = shares.slice([], [], [], [length]).mul(values.transpose([0, 2, 1, 3]))
    return fromPast.add(fromNow).transpose([0, 2, 1, 3])
  })
  unused.dispose()
  return { logits: logits.reshape([rows, config.vocabularySize]), cache }
}

interface Heads {
  queries: np.Array
  keys: np.Array
  values: np.Array
}

/** The block stack; `attend` mixes positions ([rows, positions, heads, head size] in and out). */
function transform(
  config: PolicyConfig,
  parameters: Parameters,
  tokens: np.Array,
  places: np.Array,
  attend: (heads: Heads) => np.Array,
): np.Array {
  const { width, heads, layers } = config
  const [rows = 0, positions = 0] = tokens.shape
  const headSize = width / heads
  let stream = np
    .take(tensor(parameters, "embedding"), tokens, 0)
    .add(np.take(tensor(parameters, "positions"), places, 0))
  for (let layer = 0; layer < layers; layer++) {
    const name = (part: string): np.Array => tensor(parameters, `layers.${layer}.${part}`)
    const projected = np
      .matmul(normalize(stream.ref, name("attention.norm")), name("attention.qkv"))
      .reshape([rows, positions, 3 * heads, headSize])
    const queries = projected.ref.slice([], [], [0, heads])
    const keys = projected.ref.slice([], [], [heads, 2 * heads])
    const values = projected.slice([], [], [2 * heads])
    const mixed = attend({ queries, keys, values }).reshape([rows, positions, width])
    stream = stream.add(np.matmul(mixed, name("attention.out")))
    const hidden = nn.relu(np.matmul(normalize(stream.ref, name("mlp.norm")), name("mlp.up")))
    stream = stream.add(np.matmul(np.square(hidden), name("mlp.down")))
  }
  return np.matmul(normalize(stream, tensor(parameters, "norm")), tensor(parameters, "head"))
}

function normalize(stream: np.Array, weight: np.Array): np.Array {
  const meanSquare = np.mean(np.square(stream.ref), -1, { keepdims: true })
  return stream.mul(np.reciprocal(np.sqrt(meanSquare.add(1e-5)))).mul(weight)
}

function tensor(parameters: Parameters, name: string): np.Array {
  const value = parameters[name]
  if (value === undefined) throw new RangeError(`the policy's weights have no tensor ${name}`)
  return value
}

/** Added to scores of positions that must not be attended to: far below any score, and no infinity in sums. */
const blocked = -1e9
