import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"

const weights = z.object({
  numberedSteps: z.number().default(0.5).describe("`Step 3:`"),
  listNumbers: z.number().default(0.5).describe("numbered items at the start of a line"),
  bulletPoints: z.number().default(0.4).describe("bullets at the start of a line"),
  transitionWords: z.number().default(0.3).describe("first, then, finally, …"),
})

const patterns: Readonly<Record<keyof z.output<typeof weights>, RegExp>> = {
  numberedSteps: /step\s+[0-9]+(?::|\s)/gi,
  listNumbers: /(?:^|\n)\s*[0-9]+\.\s/g,
  bulletPoints: /(?:^|\n)\s*[-*•]\s/g,
  transitionWords: new RegExp(
    `\\b(?:${[
      "first",
      "second",
      "third",
      "fourth",
      "fifth",
      "next",
      "then",
      "finally",
      "subsequently",
      "afterward",
      "lastly",
      "initially",
      "to begin",
      "let's begin",
      "i'll first",
      "after that",
      "in conclusion",
      "eventually",
      "to solve",
      "begin by",
      "understand",
      "analyze",
      "apply",
      "compute",
    ].join("|")})\\b`,
    "gi",
  ),
}

export const reasoningSteps: RewardKind = defineReward({
  name: "reasoningsteps",
  description: "signs of reasoning step by step, between 0 and 1",
  options: z.object({
    minWords: z.int().default(10).describe("texts of more words than this get the base score"),
    minSteps: z.int().min(1).default(3).describe("how many signs of one kind are enough"),
    baseScore: z.number().default(0.1).describe("for a text that is long enough"),
    patternWeights: weights.partial().default({}).describe("weight of each kind of sign"),
  }),
  create: ({ minWords, minSteps, baseScore, patternWeights }) => {
    const resolved = weights.parse(patternWeights)
    return (completions) =>
      completions.map((completion) => {
        const text = contentOf(completion)
        const words = text.split(/\s+/).filter((word) => word !== "").length
        let score = words > minWords ? baseScore : 0
        for (const [kind, pattern] of Object.entries(patterns)) {
          const count = text.match(pattern)?.length ?? 0
          score += Math.min(1, count / minSteps) * resolved[kind as keyof typeof resolved]
        }
        return Math.min(1, score)
      })
  },
})
