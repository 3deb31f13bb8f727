import { z } from "zod"

import { contentOf } from "../completions.ts"
import { defineReward, type RewardContext, type RewardKind } from "../reward.ts"

interface WinnerAction {
  type: string
  /** Undefined without one; NaN for one that is no number. */
  amount: number | undefined
}

const aggressive = ["bet", "raise"]
const passive = ["check", "call"]

const actionOptions = z.object({
  exactMatchScore: z.number().default(1).describe("the winner's action and amount"),
  actionTypeScore: z.number().default(0.7).describe("the winner's action with another amount, at least"),
  relatedActionScore: z.number().default(0.5).describe("another action of the same temper"),
})

const sizingOptions = z.object({
  maxDeviationPct: z.number().positive().default(0.5).describe("deviation from which on a size is worth minScore"),
  minScore: z.number().default(0),
  perfectMatchScore: z.number().default(1),
})

export const pokerActionMatch: RewardKind = defineReward({
  name: "poker_action_match",
  description: "how near a poker action is to the winner's",
  options: actionOptions,
  create: (settings) => (completions, context) =>
    completions.map((completion) => actionScore(contentOf(completion), winnerAction(context), settings)),
})

export const pokerBetSizing: RewardKind = defineReward({
  name: "poker_bet_sizing",
  description: "how near a bet is to the winner's",
  options: sizingOptions,
  create: (settings) => (completions, context) =>
    completions.map((completion) => sizingScore(contentOf(completion), winnerAction(context), settings)),
})

export const pokerCombined: RewardKind = defineReward({
  name: "poker_combined",
  description: "action and bet size together",
  options: z.object({
    actionWeight: z.number().default(0.6).describe("weight of the action"),
    sizingWeight: z.number().default(0.4).describe("weight of the bet size"),
  }),
  create: ({ actionWeight, sizingWeight }) => {
    const [action, sizing] = [actionOptions.parse({}), sizingOptions.parse({})]
    return (completions, context) =>
      completions.map((completion) => {
        const [text, winner] = [contentOf(completion), winnerAction(context)]
        return actionWeight * actionScore(text, winner, action) + sizingWeight * sizingScore(text, winner, sizing)
      })
  },
})

function winnerAction(context: RewardContext): WinnerAction | undefined {
  const spelled = context["winnerAction"]
  if (typeof spelled !== "string") return undefined
  const [type, amount] = spelled.trim().toLowerCase().split(/\s+/)
  if (type === undefined || type === "") return undefined
  return { type, amount: amount === undefined ? undefined : Number(amount) }
}

/** The first number of a reply, wherever it stands. */
function replyAmount(text: string): number | undefined {
  const match = /[0-9]+(?:\.[0-9]+)?/.exec(text)
  return match === null ? undefined : Number(match[0])
}

function actionScore(text: string, winner: WinnerAction | undefined, settings: z.output<typeof actionOptions>): number {
  if (winner === undefined) return 0
  const reply = text.toLowerCase()
  if (reply.includes(winner.type)) {
    if (winner.amount === undefined || Number.isNaN(winner.amount)) return settings.exactMatchScore
    const amount = replyAmount(reply)
    if (amount === undefined) return settings.actionTypeScore
    const [low, high] = [Math.min(amount, winner.amount), Math.max(amount, winner.amount)]
    const share = high === 0 ? 1 : low / high
    return settings.actionTypeScore + (settings.exactMatchScore - settings.actionTypeScore) * share
  }
  const related = [aggressive, passive].some(
    (temper) => temper.includes(winner.type) && temper.some((action) => reply.includes(action)),
  )
  return related ? settings.relatedActionScore : 0
}

function sizingScore(text: string, winner: WinnerAction | undefined, settings: z.output<typeof sizingOptions>): number {
  if (winner?.amount === undefined || Number.isNaN(winner.amount) || !aggressive.includes(winner.type)) return 0
  const reply = text.toLowerCase()
  const amount = replyAmount(reply)
  if (amount === undefined || !aggressive.some((action) => reply.includes(action))) return 0
  const [low, high] = [Math.min(amount, winner.amount), Math.max(amount, winner.amount)]
  const deviation = low === high ? 0 : low === 0 ? 1 : (high - low) / low
  if (deviation > settings.maxDeviationPct) return settings.minScore
  const share = deviation / settings.maxDeviationPct
  return settings.perfectMatchScore - (settings.perfectMatchScore - settings.minScore) * share
}
