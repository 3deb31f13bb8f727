import fc from "fast-check"
import { expect, it } from "vitest"

import { discountedReturns, outcomeAdvantages, processAdvantages } from "./advantages.ts"
import { selectBest } from "./best-of-n.ts"
import { passAtK } from "./pass-at-k.ts"

it("standardises rewards over all steps of all rollouts and sums them from each step on", () => {
  // mean 1.5, deviation sqrt(1.25)
  const unit = Math.sqrt(1.25)
  const [first, second, third] = processAdvantages([[0, 3], [1], [2]])
  expect(first?.[0]).toBeCloseTo(0, 12)
  expect(first?.[1]).toBeCloseTo(1.5 / unit, 12)
  expect(second?.[0]).toBeCloseTo(-0.5 / unit, 12)
  expect(third?.[0]).toBeCloseTo(0.5 / unit, 12)
})

it("discounts later steps", () => {
  expect(discountedReturns([1, 1, 1], 0.5)).toEqual([1.75, 1.5, 1])
  const [advantages] = processAdvantages([[0, 2]], { discount: 0.25 })
  expect(advantages).toEqual([-0.75, 1])
})

it("gives nothing for rewards that are all alike, and keeps rollouts without steps", () => {
  expect(processAdvantages([[1, 1], [], [1]])).toEqual([[0, 0], [], [0]])
  expect(processAdvantages([[1, 3], []])).toEqual([[0, 1], []])
  expect(processAdvantages([])).toEqual([])
  expect(outcomeAdvantages([2, 2])).toEqual([0, 0])
  expect(outcomeAdvantages([0, 2])).toEqual([-1, 1])
})

it("without a discount on one step each, process and outcome advantages are the same", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: -10, max: 10, noNaN: true }), { minLength: 1 }), (scores) => {
      expect(processAdvantages(scores.map((score) => [score])).flat()).toEqual(outcomeAdvantages(scores))
    }),
    { numRuns: 100 },
  )
})

it("the best is the highest score, of equals the cheapest, of those the first", () => {
  expect(selectBest([1, 3, 2])).toBe(1)
  expect(selectBest([3, 3, 3], [5, 2, 2])).toBe(1)
  expect(selectBest([3, 3])).toBe(0)
  expect(selectBest([])).toBeUndefined()
})

it("pass@k is the share of k-subsets with a right answer in them", () => {
  expect(passAtK(4, 1, 1)).toBe(0.25)
  expect(passAtK(4, 2, 2)).toBeCloseTo(5 / 6, 12)
  expect(passAtK(10, 0, 5)).toBe(0)
  expect(passAtK(10, 6, 5)).toBe(1)
  expect(() => passAtK(3, 1, 4)).toThrow("1 <= k <= count")
})
