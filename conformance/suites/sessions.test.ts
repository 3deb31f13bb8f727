import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, it } from "vitest"

import { runSuite } from "../runner/run-suite.ts"
import { createSuite } from "./sessions.ts"

const vectors = new URL("../vectors/", import.meta.url).pathname

it("the sessions suite passes where no large tokenizer is needed", async () => {
  const { counts, differences } = await runSuite(createSuite({ packages: false }))
  expect(differences).toEqual([])
  expect(counts.passed).toBeGreaterThan(0)
})

it("plays families that are described above a case's file, and counts a case on which it breaks as failed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-families-"))
  try {
    const sessions = join(folder, "given", "sessions", "new")
    mkdirSync(sessions, { recursive: true })
    cpSync(join(vectors, "tokenizers", "mini"), join(folder, "given", "tokenizers", "own"), { recursive: true })
    cpSync(join(vectors, "templates", "jinja", "mini-chatml.jinja"), join(folder, "given", "own.jinja"))
    const mini = { tokenizer: { shared: "tokenizers/own" }, template: "own.jinja", eos: "<|end|>" }
    const ends = { stop: { "<|end|>": 1540 }, close: { "<|end|>": 1540 } }
    writeFileSync(join(folder, "given", "families.json"), JSON.stringify({ own: { ...mini, ...ends } }))
    const [known] = JSON.parse(readFileSync(join(vectors, "sessions", "mini-chatml.json"), "utf8")) as object[]
    const cases = [
      { ...known, id: "new", family: "own" },
      { ...known, id: "broken", family: "own", calls: [{ messages: [{ content: "no role" }], expect: {} }] },
      { ...known, id: "unknown", family: "nobody's" },
    ]
    writeFileSync(join(sessions, "cases.json"), JSON.stringify(cases))
    const { counts, differences } = await runSuite(createSuite({ packages: false }), folder)
    expect(differences).toEqual([expect.stringContaining("broken: bad-option: role of message 0")])
    // The family of nobody, and the two files of the tokenizer.
    expect(counts).toEqual({ passed: 1, failed: 1, skipped: 3 })
  } finally {
    rmSync(folder, { recursive: true })
  }
})
