import { tensorShapes, type PolicyConfig } from "./config.ts"
import { createRandom, deriveSeed, drawNormal } from "./random.ts"

/** The parameters of a policy: one flat array, and each tensor as a view into it. */
export interface Weights {
  readonly config: PolicyConfig
  readonly flat: Float32Array<ArrayBuffer>
  readonly tensors: ReadonlyMap<string, { shape: readonly number[]; data: Float32Array<ArrayBuffer> }>
}

/** All parameters zero; fill `flat` or the tensors. */
export function createWeights(config: PolicyConfig): Weights {
  const shapes = tensorShapes(config)
  const size = (shape: readonly number[]): number => shape.reduce((product, length) => product * length, 1)
  const flat = new Float32Array(shapes.reduce((total, { shape }) => total + size(shape), 0))
  const tensors = new Map<string, { shape: readonly number[]; data: Float32Array<ArrayBuffer> }>()
  let offset = 0
  for (const { name, shape } of shapes) {
    tensors.set(name, { shape, data: flat.subarray(offset, offset + size(shape)) })
    offset += size(shape)
  }
  return { config, flat, tensors }
}

/**
 * Random parameters. Linear maps keep the variance of their input; the maps back into the residual stream
 * start smaller, by the number of them, and the head starts near zero so that every token is equally likely.
 */
export function drawWeights(config: PolicyConfig, seed: number): Weights {
  const weights = createWeights(config)
  let index = 0
  for (const [name, { shape, data }] of weights.tensors) {
    const random = createRandom(deriveSeed(seed, index++))
    const scale = initialScale(name, shape, config.layers)
    if (scale === "ones") data.fill(1)
    else for (let i = 0; i < data.length; i++) data[i] = drawNormal(random) * scale
  }
  return weights
}

function initialScale(name: string, shape: readonly number[], layers: number): number | "ones" {
  if (name.endsWith("norm")) return "ones"
  if (name === "embedding" || name === "positions") return 0.1
  const keepVariance = 1 / Math.sqrt(shape[0] ?? 1)
  if (name === "head") return 0.1 * keepVariance
  return name.endsWith(".out") || name.endsWith(".down") ? keepVariance / Math.sqrt(2 * layers) : keepVariance
}
