import { readdirSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { suite } from "./cli.ts"

const vectors = new URL("../vectors/cli", import.meta.url).pathname

test("command lines, files and names agree with what the original's environments do", async () => {
  const files = readdirSync(vectors, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => suite.accepts(file))
  const counts = { passed: 0, skipped: 0 }
  const failed: string[] = []
  await suite.run(
    files,
    (id, result) => {
      if (result.verdict === "failed") failed.push(`${id}: ${result.difference}`)
      else counts[result.verdict] += 1
    },
    { root: vectors },
  )
  expect(failed).toEqual([])
  expect(counts.passed).toBeGreaterThan(160)
})
