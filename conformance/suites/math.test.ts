import { expect, it } from "vitest"

import { publicData } from "../runner/public-data.ts"
import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./math.ts"

it("the math suite passes on our vectors", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(300)
})

const published = publicData("math-verify-cases.jsonl")

it.skipIf(published === undefined)("the math suite passes on Math-Verify's own cases (ATROPOS_DATA)", async () => {
  const { counts, differences } = await runSuite(suite, published)
  expect(differences).toEqual([])
  expect(counts).toEqual({ passed: 181, failed: 0, skipped: 1 })
})
