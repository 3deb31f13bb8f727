import { expect, test } from "vitest"

import { bar, curve } from "./bars.ts"

test("a bar is as long as its value, to an eighth of a character", () => {
  expect([0, 0.5, 1, 1.7, -1].map((value) => bar(value, 4))).toEqual(["", "██", "████", "████", ""])
  expect(bar(1 / 32, 4)).toBe("▏")
})

test("a curve has a column for each value, and means when there are more values than columns", () => {
  expect(curve([0, 0.5, 1], 10)).toBe("▁▅█")
  expect(curve([0, 0, 0.5, 0.5, 1, 1], 3)).toBe("▁▅█")
  expect(curve([], 10)).toBe("")
})
