/**
 * The index of the best of several: the highest score, of equal ones the lowest `costs` (such as lengths), of equal ones
 * the first. Undefined for none.
 */
export function selectBest(scores: readonly number[], costs: readonly number[] = []): number | undefined {
  let best: number | undefined
  for (const [index, score] of scores.entries()) {
    if (best === undefined) {
      best = index
      continue
    }
    const leading = scores[best] ?? Number.NEGATIVE_INFINITY
    const cheaper = (costs[index] ?? 0) < (costs[best] ?? 0)
    if (score > leading || (score === leading && cheaper)) best = index
  }
  return best
}
