import { describeFailure } from "../rollouts/rollout-failure.ts"
import { mean, standardDeviation } from "../serve/statistics.ts"
import type { EvaluatedItem, EvaluationResult, EvaluationSample } from "./evaluation.ts"

/**
 * The result of an evaluation from its samples. What failed is counted and stands among the samples with its cause,
 * but in no mean: a server that was away is no wrong answer. Items without a sample were left out.
 */
export function summariseSamples<Item>(
  items: readonly EvaluatedItem<Item, EvaluationSample | undefined>[],
  generationParameters: Readonly<Record<string, unknown>>,
): EvaluationResult {
  const samples: EvaluationSample[] = []
  const failed: EvaluationSample[] = []
  for (const item of items) {
    if (item.status === "failed") failed.push({ error: describeFailure(item.failure) })
    else if (item.value !== undefined) samples.push(item.value)
  }
  if (samples.length === 0 && failed.length > 0) {
    throw new Error(`all ${failed.length} rollouts failed, the first at ${String(failed[0]?.["error"])}`)
  }
  const means = {
    "eval/percent_correct": samples.map(({ correct }) => (correct === true ? 1 : 0)),
    "eval/mean_score": samples.map(({ score }) => score ?? 0),
  }
  const over = (summarise: (values: readonly number[]) => number): Record<string, number> =>
    samples.length === 0
      ? {}
      : Object.fromEntries(Object.entries(means).map(([name, values]) => [name, summarise(values)]))
  return {
    metrics: { ...over(mean), ...(failed.length === 0 ? {} : { "eval/failed": failed.length }) },
    standardErrors: over((values) => standardDeviation(values) / Math.sqrt(Math.max(1, values.length - 1))),
    samples: [...samples, ...failed],
    generationParameters,
  }
}
