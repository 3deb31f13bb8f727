import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"

export const crosswordFormat: RewardKind = defineReward({
  name: "crosswordformat",
  description: "a value when answers are given as `3-Across: WORD`, else 0",
  options: z.object({
    rewardValue: z.number().default(1).describe("what the right form is worth"),
    penalizeInvalidChars: z.boolean().default(true).describe("words may only have validChars"),
    validChars: z.string().default("ABCDEFGHIJKLMNOPQRSTUVWXYZ").describe("letters of words, in either case"),
    formatPatterns: z
      .array(z.string())
      .default(["[0-9]+-(?:Across|Down):\\s+[A-Z]"])
      .describe("regular expressions, without case; one of them must be met"),
  }),
  create: ({ rewardValue, penalizeInvalidChars, validChars, formatPatterns }) => {
    const patterns = formatPatterns.map((pattern) => new RegExp(pattern, "i"))
    const valid = new Set(validChars.toUpperCase())
    return (completions) =>
      completions.map((completion) => {
        const text = contentOf(completion)
        if (!patterns.some((pattern) => pattern.test(text))) return 0
        const words = [...text.matchAll(/(?:Across|Down):\s+([\p{L}\p{N}_'-]+)/giu)].map((match) => match[1] ?? "")
        const clean = words.every((word) => Array.from(word.toUpperCase()).every((letter) => valid.has(letter)))
        return penalizeInvalidChars && !clean ? 0 : rewardValue
      })
  },
})
