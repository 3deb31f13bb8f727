import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"
import { defaultAccuracyXOptions, matchesSolution } from "./accuracy-x.ts"
import { defaultFormatReasoningOptions, isWellFormed } from "./format-reasoning.ts"

export const r1: RewardKind = defineReward({
  name: "r1",
  description: "well-formed thinking and the solution in the response, each with its weight",
  options: z.object({
    formatWeight: z.number().default(0.5).describe("weight of the form"),
    accuracyWeight: z.number().default(1).describe("weight of the solution"),
  }),
  create:
    ({ formatWeight, accuracyWeight }) =>
    (completions, context) => {
      const matches = matchesSolution(completions, context, defaultAccuracyXOptions)
      return completions.map((completion, index) => {
        const formed = isWellFormed(contentOf(completion), defaultFormatReasoningOptions)
        return (formed ? formatWeight : 0) + (matches[index] === true ? accuracyWeight : 0)
      })
    },
})
