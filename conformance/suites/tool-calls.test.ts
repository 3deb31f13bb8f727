import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./tool-calls.ts"

it("the tool-calls suite passes on our vectors", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})
