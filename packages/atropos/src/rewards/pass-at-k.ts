import { AtroposError } from "../runtime/errors.ts"

/**
 * The chance that at least one of `k` answers is right, estimated without bias from `count` answers of which `right`
 * were: 1 - C(count - right, k) / C(count, k).
 */
export function passAtK(count: number, right: number, k: number): number {
  if (![count, right, k].every(Number.isInteger) || k < 1 || k > count || right < 0 || right > count) {
    throw new AtroposError(
      "bad-option",
      `pass@k needs whole numbers with 1 <= k <= count and 0 <= right <= count, received count ${count}, right ${right}, k ${k}`,
    )
  }
  let allWrong = 1
  for (let index = 0; index < k; index++) allWrong *= Math.max(0, count - right - index) / (count - index)
  return 1 - allWrong
}
