import { z } from "zod"

import { contentOf, solutionsFor } from "../completions.ts"
import { defineReward, type Completion, type RewardContext, type RewardKind } from "../reward.ts"
import { splitThinking } from "../thinking.ts"

const options = z.object({
  exactMatch: z.boolean().default(false).describe("the response must be the solution and not only contain it"),
  caseSensitive: z.boolean().default(false).describe("letter case matters"),
  rewardValue: z.number().default(1).describe("what a match is worth"),
})
type Options = z.output<typeof options>

export const accuracyX: RewardKind = defineReward({
  name: "accuracyx",
  description: "a value when the response contains (or is) the solution, else 0",
  options,
  create: (settings) => (completions, context) =>
    matchesSolution(completions, context, settings).map((matches) => (matches ? settings.rewardValue : 0)),
})

export const defaultAccuracyXOptions: Options = options.parse({})

/** Whether each completion's response has the solution in it. */
export function matchesSolution(
  completions: readonly Completion[],
  context: RewardContext,
  settings: Options,
): boolean[] {
  const solutions = solutionsFor(context["solution"], completions.length)
  const spell = (text: string): string => (settings.caseSensitive ? text : text.toLowerCase())
  return completions.map((completion, index) => {
    const solution = solutions[index]
    if (solution === undefined) return false
    const response = spell(splitThinking(contentOf(completion)).response)
    return settings.exactMatch ? response === spell(solution) : response.includes(spell(solution))
  })
}
