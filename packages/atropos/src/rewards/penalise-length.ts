import type { TrajectoryGroup } from "../environment/groups/trajectory-group.ts"
import { applyLengthPenalty, type LengthPenaltyOptions } from "./length-penalty.ts"

/** A group with the length penalty on its scores, by the tokens of whole sequences; undefined drops it. */
export function penaliseLength(group: TrajectoryGroup, options: LengthPenaltyOptions): TrajectoryGroup | undefined {
  const { sequences } = group
  const scores = applyLengthPenalty(
    sequences.map(({ score }) => score),
    sequences.map(({ tokens }) => tokens.length),
    options,
  )
  if (scores === undefined) return undefined
  return { ...group, sequences: sequences.map((sequence, index) => ({ ...sequence, score: scores[index] ?? 0 })) }
}
