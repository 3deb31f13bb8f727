import { z } from "zod"

import { anyContentOf } from "../completions.ts"
import { defineReward, type RewardKind } from "../reward.ts"
import { defaultAccuracyOptions, scoreAccuracy } from "./accuracy.ts"

const formBonus = 0.5

export const cascadingR1Math: RewardKind = defineReward({
  name: "cascading_r1_math",
  description: "1 for the right mathematical answer, and half more when the whole reply is thinking and response",
  options: z.object({}),
  create: () => (completions, context) => {
    const texts = completions.map(anyContentOf)
    return scoreAccuracy(texts, context, defaultAccuracyOptions).map((accuracy, index) =>
      accuracy > 0 && /^<think>[^<]*<\/think>[^<]+$/.test(texts[index] ?? "") ? accuracy + formBonus : accuracy,
    )
  },
})
