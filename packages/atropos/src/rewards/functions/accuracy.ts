import { z } from "zod"

import { contentOf, solutionsFor } from "../completions.ts"
import { parseBoxedAnswer, parseGoldAnswer } from "../math/boxed-answer.ts"
import { verify } from "../math/verify.ts"
import { defineReward, type RewardContext, type RewardKind } from "../reward.ts"
import { afterThink } from "../thinking.ts"

const options = z.object({
  tolerance: z.number().default(1e-6).describe("how far a plain number may be off"),
  splitOnThinkTag: z.boolean().default(true).describe("look only behind the last </think>"),
  maxBoxedThreshold: z.int().default(6).describe("more boxes than this behind the thinking count as guessing"),
})
type Options = z.output<typeof options>

export const accuracy: RewardKind = defineReward({
  name: "accuracy",
  description: "1 for the right mathematical answer, else 0",
  options,
  create: (settings) => (completions, context) => scoreAccuracy(completions.map(contentOf), context, settings),
})

export const defaultAccuracyOptions: Options = options.parse({})

/** 1 or 0 for each text, against `groundTruth` or else `solution`. */
export function scoreAccuracy(texts: readonly string[], context: RewardContext, settings: Options): number[] {
  const golds = solutionsFor(context["groundTruth"] ?? context["solution"], texts.length)
  return texts.map((text, index) => {
    const gold = golds[index]
    return gold !== undefined && isAccurate(text, gold, settings) ? 1 : 0
  })
}

function isAccurate(text: string, goldText: string, settings: Options): boolean {
  let answer = text
  if (settings.splitOnThinkTag && text.includes("</think>")) {
    answer = afterThink(text)
    if (answer.split("\\boxed").length - 1 > settings.maxBoxedThreshold) return false
  }
  const gold = goldText.includes("####") ? (goldText.split("####").at(-1) ?? "").trim() : goldText
  const found = parseBoxedAnswer(answer)
  if (found.length > 0) return verify(parseGoldAnswer(gold), found)
  const wanted = toNumber(gold)
  const given = plainNumber(answer)
  return wanted !== undefined && given !== undefined && Math.abs(wanted - given) <= settings.tolerance
}

/** The first box as a number, or the number behind `####`. */
function plainNumber(text: string): number | undefined {
  const boxed = /\\boxed\{([^{}]*)\}/.exec(text)?.[1]
  const value = boxed === undefined ? undefined : toNumber(boxed)
  return value ?? toNumber(/####\s*(-?[\d.,]+)/.exec(text)?.[1] ?? "")
}

function toNumber(text: string): number | undefined {
  const bare = text.replaceAll(",", "").trim()
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(bare) ? Number(bare) : undefined
}
