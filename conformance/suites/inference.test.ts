import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./inference.ts"

it("every adapter reads the recorded answers of its server", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})
