import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { quickFiles } from "./families/quick-files.ts"
import { suite } from "./templates.ts"

it.each(quickFiles("templates"))("%s", async (file) => {
  const { counts, differences } = await runSuite(suite, file)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})
