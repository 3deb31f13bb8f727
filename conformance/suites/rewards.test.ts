import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./rewards.ts"

it("the rewards suite passes on our vectors", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(400)
})
