import fc from "fast-check"
import { expect, it } from "vitest"

import { parseAnswer } from "./parse-answer.ts"
import { notations, numbers, wildTexts, withChangedDigit } from "./property-samples.ts"
import { mathEquals, verify } from "./verify.ts"

it("none of 100,000 random texts makes it throw or take more than 100 ms", () => {
  let slowest = 0
  fc.assert(
    fc.property(wildTexts, (text) => {
      const before = process.cpuUsage()
      const items = parseAnswer(text)
      verify(items, items)
      slowest = Math.max(slowest, process.cpuUsage(before).user / 1000)
    }),
    { numRuns: 100_000 },
  )
  expect(slowest).toBeLessThan(100)
})

it("20,000 numbers equal themselves in any notation, and no number with a changed digit", () => {
  const any = fc.constantFrom(...notations)
  fc.assert(
    fc.property(numbers, any, any, fc.nat(20), fc.nat(8), (value, first, second, position, digit) => {
      const gold = first.write(value)
      const [right, wrong] = [second.write(value), second.write(withChangedDigit(value, position, digit))]
      if (gold === undefined || right === undefined || wrong === undefined) return
      expect([gold, right, mathEquals(gold, right)]).toEqual([gold, right, true])
      expect([gold, wrong, mathEquals(gold, wrong)]).toEqual([gold, wrong, false])
    }),
    { numRuns: 20_000 },
  )
})
