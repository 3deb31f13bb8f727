import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { suite } from "./inference.ts"

it("every adapter reads the recorded answers of its server", async () => {
  const { counts, differences } = await runSuite(suite)
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})

it("finds an answer that does not hold together, and passes over what is no exchange", async () => {
  const folder = mkdtempSync(join(tmpdir(), "inference-"))
  try {
    const name = "vllm.completions.token-prompt.json"
    const recorded = JSON.parse(readFileSync(new URL(`../vectors/inference/${name}`, import.meta.url), "utf8")) as {
      response: { body: { choices: { token_ids: number[] }[] } }
    }
    recorded.response.body.choices[0]?.token_ids.pop()
    writeFileSync(join(folder, "short.json"), JSON.stringify(recorded))
    writeFileSync(join(folder, "other.json"), "{}")
    writeFileSync(join(folder, "README.md"), "")
    const { counts, differences } = await runSuite(suite, folder)
    expect(counts).toEqual({ passed: 0, failed: 1, skipped: 1 })
    expect(differences[0]).toMatch(/logprobs/)
  } finally {
    rmSync(folder, { recursive: true })
  }
})
