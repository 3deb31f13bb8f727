import { describe, expect, test } from "vitest"

import { logSoftmax, type PickOptions, pickToken } from "./pick-token.ts"
import { createRandom } from "./random.ts"

const shares = [0.4, 0.3, 0.2, 0.06, 0.04]
const logprobs = logSoftmax(Float32Array.from(shares, Math.log))

function frequencies(options: Partial<PickOptions>): number[] {
  const random = createRandom(1)
  const draws = 20_000
  const counts = shares.map(() => 0)
  for (let draw = 0; draw < draws; draw++) {
    counts[pickToken(logprobs, { temperature: 1, topP: 1, topK: 0, minP: 0, ...options }, random)]! += 1 / draws
  }
  return counts
}

function expectFrequencies(options: Partial<PickOptions>, unscaled: readonly number[]): void {
  const total = unscaled.reduce((sum, share) => sum + share, 0)
  for (const [id, frequency] of frequencies(options).entries()) {
    expect(Math.abs(frequency - unscaled[id]! / total), `token ${id}`).toBeLessThan(0.015)
    if (unscaled[id] === 0) expect(frequency).toBe(0)
  }
}

describe("tokens are drawn", () => {
  test("as often as the model says at temperature 1", () => expectFrequencies({}, shares))
  test("by the temperature's power of it", () =>
    expectFrequencies(
      { temperature: 0.5 },
      shares.map((share) => share ** 2),
    ))
  test("among the k likeliest", () => expectFrequencies({ topK: 2 }, [0.4, 0.3, 0, 0, 0]))
  test("among the fewest that hold top-p together", () => expectFrequencies({ topP: 0.65 }, [0.4, 0.3, 0, 0, 0]))
  test("among those with min-p of the likeliest's share", () => expectFrequencies({ minP: 0.4 }, [0.4, 0.3, 0.2, 0, 0]))
  test("never when banned", () => expectFrequencies({ banned: new Set([0, 3]) }, [0, 0.3, 0.2, 0, 0.04]))
})

test("temperature 0 is the likeliest that is not banned", () => {
  const greedy = { temperature: 0, topP: 1, topK: 0, minP: 0 }
  expect(pickToken(logprobs, greedy, createRandom(1))).toBe(0)
  expect(pickToken(logprobs, { ...greedy, banned: new Set([0]) }, createRandom(1))).toBe(1)
})
