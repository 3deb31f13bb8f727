import fc from "fast-check"
import { expect, test } from "vitest"

import { decodeColumn, encodeColumn } from "./columns.ts"

test("a column comes back as it was", () => {
  const value = fc.oneof(fc.integer(), fc.integer({ min: -(2 ** 51), max: 2 ** 51 }), fc.nat(3))
  fc.assert(
    fc.property(fc.array(value, { maxLength: 3000 }), (values) => {
      expect([...decodeColumn(encodeColumn(values))]).toEqual(values)
    }),
  )
})

test("rising ids take little more than a character each", () => {
  const ids = Array.from({ length: 10_000 }, (_, index) => 1e9 + index)
  expect(encodeColumn(ids).length).toBeLessThan(14_000)
})
