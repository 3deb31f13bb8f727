import fc from "fast-check"
import { expect, it } from "vitest"

import { parseBoxedAnswer, parseGoldAnswer } from "./boxed-answer.ts"
import { parseAnswer } from "./parse-answer.ts"
import { notations, numbers, wildTexts, withChangedDigit } from "./property-samples.ts"
import { mathEquals, verify } from "./verify.ts"

it("a number in any of its notations equals itself", () => {
  fc.assert(
    fc.property(numbers, fc.constantFrom(...notations), fc.constantFrom(...notations), (value, first, second) => {
      const [gold, answer] = [first.write(value), second.write(value)]
      if (gold !== undefined && answer !== undefined)
        expect([gold, answer, mathEquals(gold, answer)]).toEqual([gold, answer, true])
    }),
    { numRuns: 1500 },
  )
})

it("a changed digit never does", () => {
  fc.assert(
    fc.property(
      numbers,
      fc.constantFrom(...notations),
      fc.constantFrom(...notations),
      fc.nat(20),
      fc.nat(8),
      (value, first, second, position, digit) => {
        const [gold, answer] = [first.write(value), second.write(withChangedDigit(value, position, digit))]
        if (gold !== undefined && answer !== undefined)
          expect([gold, answer, mathEquals(gold, answer)]).toEqual([gold, answer, false])
      },
    ),
    { numRuns: 1500 },
  )
})

it("no text makes it throw or take long", () => {
  fc.assert(
    fc.property(wildTexts, wildTexts, (gold, answer) => {
      const before = process.cpuUsage()
      verify(parseGoldAnswer(gold), parseBoxedAnswer(answer))
      verify(parseAnswer(gold), parseAnswer(answer))
      expect(process.cpuUsage(before).user / 1000).toBeLessThan(200)
    }),
    { numRuns: 600 },
  )
})

it("whatever can be read equals itself, unless it has no value", () => {
  fc.assert(
    fc.property(wildTexts, (text) => {
      const items = parseAnswer(text)
      // The text of the match stands in where the value is undefined.
      if (items.length > 0 && text.length < 2000) expect(verify(items, items)).toBe(true)
    }),
    { numRuns: 500 },
  )
})
