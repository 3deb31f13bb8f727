export interface LengthPenaltyOptions {
  /** The limit of a sequence, prompt included. */
  maxTokenLength: number
  /** Up to this share of the limit there is no penalty. @default 0.5 */
  thresholdPercentage?: number
}

/**
 * Scores of a group in which all are right, less the longer its sequences are: 1 up to the threshold, then falling to 0
 * at the limit. Other groups keep their scores. Undefined without scores or when all lengths are 0.
 */
export function applyLengthPenalty(
  scores: readonly number[] | undefined,
  tokenLengths: readonly number[],
  { maxTokenLength, thresholdPercentage = 0.5 }: LengthPenaltyOptions,
): number[] | undefined {
  if (scores === undefined || scores.length === 0 || tokenLengths.every((length) => length === 0)) return undefined
  if (!scores.every((score) => score === 1)) return [...scores]
  const threshold = thresholdPercentage * maxTokenLength
  return scores.map((_, index) => {
    const length = tokenLengths[index] ?? 0
    if (length <= threshold) return 1
    if (threshold >= maxTokenLength) return 0
    return 1 - Math.min(1, (length - threshold) / (maxTokenLength - threshold))
  })
}
