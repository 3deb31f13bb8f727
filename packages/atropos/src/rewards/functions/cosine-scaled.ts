import { z } from "zod"

import { contentOf, solutionsFor } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"

export const cosineScaled: RewardKind = defineReward({
  name: "cosinescaled",
  description: "how near the completion's meaning is to the solution's, by embeddings",
  options: z.object({
    modelName: z
      .string()
      .default("sentence-transformers/all-MiniLM-L6-v2")
      .describe("embedding model, handed to the embedder"),
    scaleFactor: z.number().default(1).describe("factor on the cosine distance"),
    minReward: z.number().default(-1),
    maxReward: z.number().default(1),
    defaultReward: z.number().default(0).describe("without a solution or an embedding"),
  }),
  create:
    (settings, { embed }) =>
    async (completions, context) => {
      const solutions = solutionsFor(context["solution"], completions.length)
      if (embed === undefined) return completions.map(() => settings.defaultReward)
      const texts = [...new Set([...completions.map(contentOf), ...solutions.filter((text) => text !== undefined)])]
      const embeddings = await embed(texts, settings.modelName)
      const vectors = new Map(texts.map((text, index) => [text, embeddings[index]]))
      return completions.map((completion, index) => {
        const solution = solutions[index]
        const a = vectors.get(contentOf(completion))
        const b = solution === undefined || solution === "" ? undefined : vectors.get(solution)
        if (a === undefined || b === undefined) return settings.defaultReward
        const value = 1 - (1 - cosine(a, b)) * settings.scaleFactor
        return Math.min(settings.maxReward, Math.max(settings.minReward, value))
      })
    },
})

function cosine(a: readonly number[], b: readonly number[]): number {
  let dot = 0
  let sizeA = 0
  let sizeB = 0
  a.forEach((value, index) => {
    const other = b[index] ?? 0
    dot += value * other
    sizeA += value * value
    sizeB += other * other
  })
  return sizeA === 0 || sizeB === 0 ? 0 : dot / Math.sqrt(sizeA * sizeB)
}
