import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./sessions.ts"

it("the sessions suite passes on every family", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts).toMatchObject({ failed: 0, skipped: 0 })
})
