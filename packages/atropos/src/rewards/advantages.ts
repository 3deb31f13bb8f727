export interface ProcessAdvantageOptions {
  /** Factor on the rewards of each further step; 1 adds them up as they are. @default 1 */
  discount?: number
  /** Rewards that differ by less than this, as a standard deviation, say nothing: all advantages are 0. @default 1e-8 */
  minDeviation?: number
}

/**
 * Advantages of a group's steps from rewards per step (GRPO with process supervision, arXiv 2402.03300, section 4.1.3):
 * rewards are standardised over all steps of all rollouts, and a step's advantage is the discounted sum of its own and
 * all later ones. Rollouts may differ in length, and may have no step at all.
 */
export function processAdvantages(
  rewardsByRollout: readonly (readonly number[])[],
  { discount = 1, minDeviation = 1e-8 }: ProcessAdvantageOptions = {},
): number[][] {
  const { mean, deviation } = statistics(rewardsByRollout.flat())
  if (deviation < minDeviation) return rewardsByRollout.map((rewards) => rewards.map(() => 0))
  return rewardsByRollout.map((rewards) =>
    discountedReturns(
      rewards.map((reward) => (reward - mean) / deviation),
      discount,
    ),
  )
}

/** Advantages of a group's rollouts from one score each: standardised over the group. Equal scores give 0. */
export function outcomeAdvantages(
  scores: readonly number[],
  { minDeviation = 1e-8 }: Pick<ProcessAdvantageOptions, "minDeviation"> = {},
): number[] {
  const { mean, deviation } = statistics(scores)
  return scores.map((score) => (deviation < minDeviation ? 0 : (score - mean) / deviation))
}

/** For each step the sum of its reward and all later ones, each further one times `discount` more. */
export function discountedReturns(rewards: readonly number[], discount: number): number[] {
  const returns: number[] = []
  let following = 0
  for (const reward of rewards.toReversed()) {
    following = reward + discount * following
    returns.push(following)
  }
  return returns.reverse()
}

/** Mean and population standard deviation; 0 and 0 of nothing. */
function statistics(values: readonly number[]): { mean: number; deviation: number } {
  if (values.length === 0) return { mean: 0, deviation: 0 }
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length
  return { mean, deviation: Math.sqrt(variance) }
}
