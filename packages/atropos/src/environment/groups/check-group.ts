import { counted } from "../../runtime/counted.ts"
import type { TrajectoryGroup } from "./trajectory-group.ts"

/** Why a group is not sent. */
export const dropReasons = {
  empty: "No sequence was left.",
  size: "It has another number of sequences than group_size (or its own group_overrides.group_size).",
  "equal-scores": "All scores are equal, and ensure_scores_are_not_same is on.",
  length: "A sequence has max_token_len tokens or more.",
  malformed: "Arrays of a sequence differ in length, or a score is no finite number.",
  "inexact-tokens": "A sequence is a tokenizer's reading of a provider's text, and allow_inexact_tokens is off.",
  postprocess: "The environment's postprocess dropped it.",
  refused: "The trajectory server refused it.",
  "rollout-failed": "A rollout of the item failed in a way that would come again.",
  nothing: "The environment made no group of the item.",
} as const

export type DropReason = keyof typeof dropReasons

export interface GroupLimits {
  groupSize: number
  ensureScoresAreNotSame: boolean
  /** Takes sequences whose tokens are not the ones that were sampled. */
  allowInexactTokens: boolean
  /** The trainer's max_token_len; 0 or less: no limit. */
  maxTokenLen: number
}

/** The reason against sending a group, or undefined when there is none. */
export function checkGroup(
  group: TrajectoryGroup,
  limits: GroupLimits,
): { reason: DropReason; detail: string } | undefined {
  const { sequences } = group
  if (sequences.length === 0) return { reason: "empty", detail: "no sequences" }
  const malformed = findMalformed(group)
  if (malformed !== undefined) return { reason: "malformed", detail: malformed }
  const inexact = sequences.filter(({ exact }) => exact === false).length
  if (inexact > 0 && !limits.allowInexactTokens) {
    return {
      reason: "inexact-tokens",
      detail:
        `${inexact} of ${sequences.length} sequences are a tokenizer's reading of a provider's text, without logprobs; ` +
        "sample from a server that tells token ids (vllm, sglang, trl), or set --env.allow_inexact_tokens true",
    }
  }
  const own = group.groupOverrides?.["group_size"]
  const size = typeof own === "number" ? own : limits.groupSize
  if (sequences.length !== size)
    return { reason: "size", detail: `${counted(sequences.length, "sequence")} instead of ${size}` }
  if (limits.maxTokenLen > 0) {
    const longest = Math.max(...sequences.map(({ tokens }) => tokens.length))
    if (longest >= limits.maxTokenLen) {
      return {
        reason: "length",
        detail: `a sequence of ${longest} tokens, the trainer takes less than ${limits.maxTokenLen}`,
      }
    }
  }
  const first = sequences[0]?.score
  if (limits.ensureScoresAreNotSame && sequences.length > 1 && sequences.every(({ score }) => score === first)) {
    return { reason: "equal-scores", detail: `every score is ${first}` }
  }
  return undefined
}

function findMalformed({ sequences }: TrajectoryGroup): string | undefined {
  for (const [index, sequence] of sequences.entries()) {
    const length = sequence.tokens.length
    if (!Number.isFinite(sequence.score)) return `sequence ${index}: the score is ${sequence.score}`
    for (const name of perToken) {
      const values = sequence[name]
      if (values !== undefined && values.length !== length) {
        return `sequence ${index}: ${values.length} ${name} for ${length} tokens`
      }
    }
  }
  return undefined
}

const perToken = ["masks", "logprobs", "advantages", "referenceLogprobs", "distillTokenIds", "distillLogprobs"] as const
