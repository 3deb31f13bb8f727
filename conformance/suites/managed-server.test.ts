import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { createSuite } from "./managed-server.ts"

it("the managed-server suite passes where no large tokenizer is needed", async () => {
  const { counts, differences } = await runSuite(createSuite({ packages: false }))
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})
