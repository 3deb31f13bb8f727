import type { CheckResult } from "./check-environment.ts"
import { counted } from "../../runtime/counted.ts"

/** The scores of one item's rollouts, and what went wrong. */
export interface Attempt {
  /** Empty when the environment left all rollouts out. */
  scores: readonly number[]
  failures: readonly string[]
  /** Whether an answer did not fit into the budget. */
  cut: boolean
}

export interface ItemAttempts {
  random: Attempt
  /** The same answers once more. */
  again: Attempt
  empty: Attempt
  /** Undefined where no gold answer is known. */
  gold: Attempt | undefined
}

const noGold = "no gold answer is known: override goldAnswer (gold in the short form)"

/** What the scores of all items say. */
export function judgeAttempts(items: readonly ItemAttempts[]): CheckResult[] {
  const withGold = items.flatMap((item, number) =>
    item.gold === undefined ? [] : [{ ...item, gold: item.gold, number }],
  )
  const gold = (name: string, faults: readonly string[], passed: string): CheckResult =>
    withGold.length === 0 ? { name, status: "skipped", detail: noGold } : verdict(name, faults, passed)
  const telling = withGold.filter(({ gold: right, empty }) => lowest(right) > highest(empty))
  return [
    verdict(
      "no rollout fails",
      items.flatMap(({ random, empty, gold: right }) => [random, empty, right].flatMap((one) => one?.failures ?? [])),
      counted(items.length, "item"),
    ),
    gold(
      "a gold answer gets the top score",
      withGold.flatMap(({ gold: right, random, empty, number }) => {
        if (right.scores.length === 0) return [`item ${number}: the environment left the gold answer out`]
        const best = Math.max(highest(random), highest(empty))
        return lowest(right) < best ? [`item ${number}: gold ${lowest(right)}, another answer ${best}`] : []
      }),
      counted(withGold.length, "item"),
    ),
    verdict(
      "an empty answer gets the lowest score",
      items.flatMap(({ random, empty, gold: right }, number) => {
        // An environment may leave out answers that are too short: no score is the lowest of all.
        const least = Math.min(lowest(random), right === undefined ? Infinity : lowest(right))
        return highest(empty) > least ? [`item ${number}: empty ${highest(empty)}, another answer ${least}`] : []
      }),
      counted(items.length, "item"),
    ),
    verdict(
      "scoring twice gives the same",
      items.flatMap(({ random, again }, number) =>
        random.scores.join() === again.scores.join()
          ? []
          : [`item ${number}: ${random.scores.join(", ")}, then ${again.scores.join(", ")}`],
      ),
      counted(items.length, "item"),
    ),
    gold(
      "groups vary",
      telling.length > 0 ? [] : ["a gold and an empty answer score the same for every item, so every group is dropped"],
      `${telling.length} of ${counted(withGold.length, "item")} tell a right answer from none`,
    ),
    gold(
      "lengths fit",
      withGold.filter(({ gold: right }) => right.cut).map(({ number }) => `item ${number}: the gold answer is cut`),
      "the gold answers fit into max_token_length",
    ),
  ]
}

function lowest({ scores }: Attempt): number {
  return Math.min(...scores, Number.POSITIVE_INFINITY)
}

function highest({ scores }: Attempt): number {
  return Math.max(...scores, Number.NEGATIVE_INFINITY)
}

function verdict(name: string, faults: readonly string[], passed: string): CheckResult {
  if (faults.length === 0) return { name, status: "passed", detail: passed }
  const shown = faults.slice(0, 3).join("; ")
  return { name, status: "failed", detail: faults.length > 3 ? `${shown}; and ${faults.length - 3} more` : shown }
}
