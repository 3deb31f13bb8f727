import type { BatchGroup } from "atropos-rl"
import { afterEach, describe, expect, test } from "vitest"

import {
  AdamW,
  clipNorm,
  type GrpoSettings,
  grpoSettings,
  Learner,
  relativeAdvantages,
  toRows,
  type TrainingRow,
  usableRows,
} from "./grpo.ts"
import { startJax } from "./policy/jax.ts"
import { createRandom } from "./policy/random.ts"
import { createWeights, drawWeights, type Weights } from "./policy/weights.ts"
import { referenceLogprobs } from "../test/reference-model.ts"

const config = { vocabularySize: 7, width: 8, heads: 2, layers: 2, contextLength: 16 }
const random = createRandom(7)
const clip = 0.2

await startJax()

const learners: Learner[] = []
afterEach(() => {
  for (const learner of learners.splice(0)) learner.dispose()
})

function learnerOf(weights: Weights, settings: Partial<GrpoSettings> = {}): Learner {
  const learner = new Learner(weights, grpoSettings.parse({ batchSize: 4, clip, ...settings }))
  learners.push(learner)
  return learner
}

/** Weights larger than usual, so that every part of the network matters. */
function loudWeights(): Weights {
  const weights = drawWeights(config, 3)
  for (let index = 0; index < weights.flat.length; index++) weights.flat[index]! *= 1.5
  return weights
}

function drawRow(length: number, trainedFrom: number, overrides: Partial<TrainingRow> = {}): TrainingRow {
  const tokens = Array.from({ length }, () => Math.floor(random() * config.vocabularySize))
  return {
    tokens,
    trained: tokens.map((_, position) => position >= trainedFrom),
    advantages: tokens.map(() => random() * 2 - 1),
    sampledLogprobs: tokens.map(() => -1 - random()),
    temperature: 1,
    ...overrides,
  }
}

/** The loss in 64-bit floats, written down from its definition. */
function referenceLoss(weights: Weights, rows: readonly TrainingRow[]): number {
  let total = 0
  let count = 0
  for (const row of rows) {
    const logprobs = referenceLogprobs(weights, row.tokens, row.temperature)
    for (const [position, token] of row.tokens.entries()) {
      if (row.trained[position] !== true) continue
      const ratio = Math.exp(logprobs[position - 1]![token]! - row.sampledLogprobs[position]!)
      const clipped = Math.min(Math.max(ratio, 1 - clip), 1 + clip)
      total += Math.min(ratio * row.advantages[position]!, clipped * row.advantages[position]!)
      count += 1
    }
  }
  return -total / count
}

function copyOf(weights: Weights): Weights {
  const copy = createWeights(weights.config)
  copy.flat.set(weights.flat)
  return copy
}

describe("the gradient", () => {
  test("agrees with finite differences of the loss, in every tensor", async () => {
    const weights = loudWeights()
    const rows = [drawRow(6, 3), drawRow(9, 2), drawRow(4, 1, { temperature: 0.7 })]
    const { gradient, metrics } = await learnerOf(weights).gradient(rows)
    expect(metrics["train/loss"]).toBeCloseTo(referenceLoss(weights, rows), 5)
    expect(metrics["train/clipped_share"]).toBeGreaterThan(0)
    for (const [name, { data }] of gradient.tensors) {
      const largest = data.reduce((most, value, index) => (Math.abs(value) > Math.abs(data[most]!) ? index : most), 0)
      for (const index of [largest, Math.floor(random() * data.length)]) {
        const nudged = (by: number): number => {
          const other = copyOf(weights)
          other.tensors.get(name)!.data[index]! += by
          // What the 32-bit weight really moved by.
          const moved = other.tensors.get(name)!.data[index]! - weights.tensors.get(name)!.data[index]!
          return (referenceLoss(other, rows) - referenceLoss(weights, rows)) / moved
        }
        const slope = (nudged(1e-4) + nudged(-1e-4)) / 2
        expect(Math.abs(data[index]! - slope), `${name}[${index}]`).toBeLessThan(1e-5 + 1e-3 * Math.abs(slope))
      }
    }
  })

  test("is zero where nothing is trained, and blind to what masked positions carry", async () => {
    const weights = loudWeights()
    const learner = learnerOf(weights)
    const masked = drawRow(6, 99)
    expect((await learner.gradient([masked])).gradient.flat.every((value) => value === 0)).toBe(true)

    const row = drawRow(6, 4)
    const other = {
      ...row,
      advantages: row.advantages.map((value, position) => (position < 4 ? 1000 : value)),
      sampledLogprobs: row.sampledLogprobs.map((value, position) => (position < 4 ? 1 : value)),
    }
    expect((await learner.gradient([other])).gradient.flat).toEqual((await learner.gradient([row])).gradient.flat)
  })

  test("does not change with the padding that longer sequences bring", async () => {
    const weights = loudWeights()
    const learner = learnerOf(weights)
    const row = drawRow(5, 2)
    const alone = await learner.gradient([row])
    const beside = await learner.gradient([row, drawRow(14, 99)])
    expectClose(beside.gradient.flat, alone.gradient.flat)
    expect(beside.metrics["train/entropy"]).toBeCloseTo(alone.metrics["train/entropy"]!, 5)
  })

  test("is the same in one part and in several", async () => {
    const weights = loudWeights()
    const rows = [drawRow(6, 3), drawRow(9, 2), drawRow(4, 1), drawRow(7, 5)]
    const whole = await learnerOf(weights).gradient(rows)
    const inParts = await learnerOf(weights, { microBatchTokens: 24 }).gradient(rows)
    expectClose(inParts.gradient.flat, whole.gradient.flat)
    for (const [name, value] of Object.entries(whole.metrics)) expect(inParts.metrics[name], name).toBeCloseTo(value, 5)
  })

  test("takes a token without a sampled logprob as sampled just now", async () => {
    const weights = loudWeights()
    const row = drawRow(6, 3)
    const logprobs = referenceLogprobs(weights, row.tokens)
    const fresh = row.tokens.map((token, position) => (position === 0 ? 0 : logprobs[position - 1]![token]!))
    const learner = learnerOf(weights)
    const unknown = await learner.gradient([{ ...row, sampledLogprobs: row.tokens.map(() => 1) }])
    const known = await learner.gradient([{ ...row, sampledLogprobs: fresh }])
    expectClose(unknown.gradient.flat, known.gradient.flat)
    expect(unknown.metrics["train/ratio_mean"]).toBe(1)
    expect(unknown.metrics["train/kl"]).toBeCloseTo(0, 6)
  })
})

function group(fields: Partial<BatchGroup>): BatchGroup {
  return {
    tokens: [],
    masks: [],
    scores: [],
    advantages: null,
    ref_logprobs: null,
    messages: null,
    generation_params: null,
    inference_logprobs: null,
    overrides: null,
    group_overrides: null,
    images: null,
    env_id: null,
    distill_token_ids: null,
    distill_logprobs: null,
    ...fields,
  }
}

describe("rows of a group", () => {
  const tokens = [
    [1, 2, 3],
    [1, 4, 5],
  ]
  const masks = [
    [-100, 2, 3],
    [-100, -100, 5],
  ]
  const inferenceLogprobs = [
    [1, -0.5, -0.25],
    [1, 1, -2],
  ]
  const base = { tokens, masks, scores: [1, 0], inference_logprobs: inferenceLogprobs }

  test("have the distance from the group's mean score as advantage, where the mask trains", () => {
    const [first, second] = toRows([group(base)])
    expect(first!.advantages).toEqual([0, 1, 1])
    expect(first!.trained).toEqual([false, true, true])
    expect(first!.sampledLogprobs).toEqual([1, -0.5, -0.25])
    expect(second!.advantages).toEqual([0, 0, -1])
    expect(second!.trained).toEqual([false, false, true])
  })

  test("never train the first token, which nothing predicts", () => {
    expect(toRows([group({ ...base, masks: tokens })])[0]!.trained).toEqual([false, true, true])
  })

  test("take the environment's advantages, by token or one for the sequence", () => {
    const [first, second] = toRows([group({ ...base, advantages: [[9, 0.5, -0.5], [3]] })])
    expect(first!.advantages).toEqual([0, 0.5, -0.5])
    expect(second!.advantages).toEqual([0, 0, 3])
    expect(toRows([group({ ...base, advantages: [] })])[0]!.advantages).toEqual([0, 1, 1])
  })

  test("keep their tokens but lose their advantage with set_advantage_to_zero", () => {
    const [first, second] = toRows([group({ ...base, overrides: [{ set_advantage_to_zero: true }, {}] })])
    expect(first!.advantages).toEqual([0, 0, 0])
    expect(first!.trained).toEqual([false, true, true])
    expect(second!.advantages).toEqual([0, 0, -1])
  })

  test("are imitated, without a ratio, in groups marked sft", () => {
    const [first] = toRows([group({ ...base, group_overrides: { sft: true } })])
    expect(first!.advantages).toEqual([0, 1, 1])
    expect(first!.sampledLogprobs).toEqual([1, 1, 1])
  })

  test("divide logits by the temperature only when the logprobs were taken after it", () => {
    const at = (mode: string): number =>
      toRows([group({ ...base, generation_params: { logprobs_mode: mode, temperature: 0.5 } })])[0]!.temperature
    expect([at("raw"), at("temperature"), at("processed")]).toEqual([1, 0.5, 0.5])
  })

  test("are left out when the policy cannot have written them", () => {
    const rows = [drawRow(3, 1), drawRow(17, 1), drawRow(3, 1, { tokens: [1, 2, 7] })]
    expect(usableRows(rows, config)).toEqual({ rows: [rows[0]], skipped: 2 })
  })
})

test("equal scores give no advantage, however rounding falls", () => {
  expect(relativeAdvantages([0.1, 0.1, 0.1])).toEqual([0, 0, 0])
  expect(relativeAdvantages([3, 1])).toEqual([1, -1])
})

describe("AdamW", () => {
  const gradientOf = (...values: number[]): Weights => {
    const weights = createWeights({ ...config, layers: 1 })
    weights.flat.set(values)
    return weights
  }

  test("steps by the learning rate first, whatever the gradient's size, and follows the moments after", () => {
    const optimizer = new AdamW(2, { learningRate: 0.1, warmupSteps: 0, weightDecay: 0 })
    const weights = new Float32Array([1, 1])
    optimizer.update(weights, gradientOf(4, -0.001))
    expect(weights[0]).toBeCloseTo(0.9, 5)
    expect(weights[1]).toBeCloseTo(1.1, 4)
    // Moments after gradients 4 and 0, corrected: 0.36 / 0.19 and 0.76 / 0.0975.
    optimizer.update(weights, gradientOf(0, 0))
    expect(weights[0]).toBeCloseTo(0.9 - (0.1 * (0.36 / 0.19)) / Math.sqrt(0.76 / 0.0975), 5)
  })

  test("rises to its rate over the warm-up, and decays weights apart from the gradient", () => {
    const optimizer = new AdamW(1, { learningRate: 0.1, warmupSteps: 2, weightDecay: 0.5 })
    const weights = new Float32Array([2])
    optimizer.update(weights, gradientOf(0))
    expect(optimizer.rate).toBeCloseTo(0.05)
    expect(weights[0]).toBeCloseTo(2 - 0.05 * 0.5 * 2, 6)
    optimizer.update(weights, gradientOf(0))
    expect(optimizer.rate).toBeCloseTo(0.1)
  })
})

test("a long gradient is scaled to the limit and its true norm reported", () => {
  const gradient = createWeights({ ...config, layers: 1 })
  gradient.flat.set([3, 4])
  expect(clipNorm(gradient, 1)).toBeCloseTo(5)
  expect([...gradient.flat.subarray(0, 2)].map((value) => Number(value.toFixed(5)))).toEqual([0.6, 0.8])
  expect(clipNorm(gradient, 10)).toBeCloseTo(1)
})

function expectClose(actual: Float32Array, expected: Float32Array): void {
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const off = actual.reduce((most, value, index) => Math.max(most, Math.abs(value - expected[index]!)), 0)
  expect(off).toBeLessThan(1e-5 * Math.max(1, largest))
}
