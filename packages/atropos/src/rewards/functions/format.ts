import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"

const options = z.object({
  preferredTags: z.array(z.string()).default(["think", "answer"]).describe("names of tags to look for"),
  requireAllTags: z.boolean().default(false).describe("all of them and not any"),
  caseSensitive: z.boolean().default(false).describe("tags must be spelled as given"),
})

export const format: RewardKind = defineReward({
  name: "format",
  description: "1 when a wanted tag is opened and closed, else 0",
  options,
  create: ({ preferredTags, requireAllTags, caseSensitive }) => {
    const patterns = preferredTags.map((tag) => {
      const name = tag.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&")
      return new RegExp(`<${name}>[\\s\\S]*?</${name}>`, caseSensitive ? "" : "i")
    })
    return (completions) =>
      completions.map((completion) => {
        const text = contentOf(completion)
        const found = (pattern: RegExp): boolean => pattern.test(text)
        return (requireAllTags ? patterns.every(found) : patterns.some(found)) ? 1 : 0
      })
  },
})
