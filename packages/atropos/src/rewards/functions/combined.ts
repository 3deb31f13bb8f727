import { z } from "zod"

import { AtroposError } from "../../runtime/errors.ts"
import {
  callReward,
  defineReward,
  type Reward,
  type RewardKind,
  type RewardSpec,
  type RewardValues,
} from "../reward.ts"

export const combined: RewardKind = defineReward({
  name: "combined",
  description: "the weighted sum of other rewards",
  options: z.object({
    rewards: z
      .array(z.custom<RewardSpec>((value) => ["string", "object", "function"].includes(typeof value)))
      .describe("names, or objects with type, weight and params"),
    normalization: z
      .enum(["none", "sum", "minmax"])
      .default("none")
      .describe("sum divides by the sum of weights, minmax scales the group to 0..1"),
    legacyUnweighted: z.boolean().default(false).describe("leave the weights of the parts out, as the original did"),
  }),
  create: ({ rewards, normalization, legacyUnweighted }, { create }) => {
    if (create === undefined) {
      throw new AtroposError("bad-option", "a combined reward is made by a registry, which knows its parts")
    }
    const made = rewards.map((spec) => create(spec))
    const sumOfWeights = made.reduce((sum, { weight }) => sum + weight, 0)
    const parts = made.map((part) => (legacyUnweighted ? unweighted(part) : part))
    return async (completions, context) => {
      const calls = await Promise.all(parts.map((part) => callReward(part, completions, context)))
      // A part that failed as a whole is left out.
      const counted = calls.filter((call) => call.error === undefined)
      const totals = completions.map((_, index) => addUp(counted.map((call) => call.values[index])))
      const metrics: Record<string, number> = {}
      for (const call of calls) Object.assign(metrics, call.metrics)
      switch (normalization) {
        case "none":
          return { values: totals, metrics }
        case "sum":
          return { values: divideBy(totals, sumOfWeights), metrics }
        case "minmax":
          return { values: scaleToUnit(totals), metrics }
      }
    }
  },
})

function unweighted(part: Reward): Reward {
  return { name: part.name, weight: 1, compute: (completions, context) => part.compute(completions, context) }
}

/** A completion that one part could not score has no score. */
function addUp(values: RewardValues): number | undefined {
  let total = 0
  for (const value of values) {
    if (value === undefined) return undefined
    total += value
  }
  return total
}

function divideBy(totals: RewardValues, divisor: number): RewardValues {
  return divisor === 0 ? totals : totals.map((total) => (total === undefined ? undefined : total / divisor))
}

function scaleToUnit(totals: RewardValues): RewardValues {
  const known = totals.filter((total) => total !== undefined)
  const [low, high] = [Math.min(...known), Math.max(...known)]
  if (!(high > low)) return totals
  return totals.map((total) => (total === undefined ? undefined : (total - low) / (high - low)))
}
