import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./scores.ts"

it("the scores suite passes on our vectors for the environments that exist", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThanOrEqual(104)
})
