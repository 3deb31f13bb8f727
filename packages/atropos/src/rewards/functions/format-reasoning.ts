import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"
import { splitThinking } from "../thinking.ts"

const options = z.object({
  rewardValue: z.number().default(0.5).describe("what a well-formed reply is worth"),
  requireThinking: z.boolean().default(true).describe("the thinking must not be empty"),
  requireResponse: z.boolean().default(true).describe("the text behind it must not be empty"),
  allowMultipleThinking: z.boolean().default(false).describe("several think blocks are no fault by themselves"),
})
type Options = z.output<typeof options>

export const formatReasoning: RewardKind = defineReward({
  name: "formatreasoning",
  description: "a value for one think block with a response behind it, else 0",
  options,
  create: (settings) => (completions) =>
    completions.map((completion) => (isWellFormed(contentOf(completion), settings) ? settings.rewardValue : 0)),
})

export const defaultFormatReasoningOptions: Options = options.parse({})

export function isWellFormed(text: string, settings: Options): boolean {
  const { blocks, thinking, response } = splitThinking(text)
  if (blocks > 1 && !settings.allowMultipleThinking) return false
  if (settings.requireThinking && thinking === "") return false
  return !settings.requireResponse || response.trim() !== ""
}
