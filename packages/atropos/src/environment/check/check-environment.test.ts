import { expect, test } from "vitest"
import { z } from "zod"

import { defineEnvironment, type EnvironmentDefinition } from "../define-environment.ts"
import { checkEnvironment } from "./check-environment.ts"

const good: EnvironmentDefinition<number, { depth: number }> = {
  name: "echo",
  config: z.object({ depth: z.int().default(1).describe("how deep") }),
  defaults: { groupSize: 2 },
  rows: [1, 2, 3],
  prompt: (row) => `say ${row}:`,
  score: (row, answer) => (answer.text === String(row) ? 1 : answer.text === "" ? -1 : 0),
  gold: String,
}

/** Names of the checks that fail, and of those that are skipped. */
async function faults(change: Partial<EnvironmentDefinition<number, { depth: number }>>): Promise<string[]> {
  const results = await checkEnvironment(defineEnvironment({ ...good, ...change }))
  return results.filter(({ status }) => status !== "passed").map(({ status, name }) => `${status}: ${name}`)
}

test("an environment as it should be passes everything", async () => {
  expect(await faults({})).toEqual([])
  expect(await checkEnvironment(defineEnvironment(good))).toHaveLength(9)
})

test("each fault is found by its own check", async () => {
  let calls = 0
  const bad: [Partial<EnvironmentDefinition<number, { depth: number }>>, string[]][] = [
    [{ name: "Echo-2" }, ["failed: the name is snake_case"]],
    [{ config: z.object({ depth: z.int().default(1) }) }, ["failed: its configuration is documented"]],
    [{ gold: () => "" }, ["failed: groups vary"]],
    [
      { score: (_row, answer) => -answer.tokenIds.length },
      [
        "failed: a gold answer gets the top score",
        "failed: an empty answer gets the lowest score",
        "failed: groups vary",
      ],
    ],
    [
      { score: (_row, answer) => (answer.text === "" ? -1e9 : answer.text === "1" ? 1e9 : calls++) },
      ["failed: scoring twice gives the same"],
    ],
    [{ score: () => 0 }, ["failed: groups vary"]],
    [{ defaults: { maxTokenLength: 1 } }, ["failed: lengths fit"]],
    [
      {
        score: (row, answer) => {
          if (answer.text.length > 3) throw new Error("unreadable")
          return answer.text === String(row) ? 1 : 0
        },
      },
      ["failed: no rollout fails"],
    ],
  ]
  for (const [change, expected] of bad) {
    const found = await faults(change)
    for (const name of expected) expect(found).toContain(name)
  }
})

test("without a gold answer it says how to give one", async () => {
  const { gold: _, ...definition } = good
  const results = await checkEnvironment(defineEnvironment(definition))
  expect(results.filter(({ status }) => status === "skipped").map(({ name }) => name)).toEqual([
    "a gold answer gets the top score",
    "groups vary",
    "lengths fit",
  ])
})

test("examples stand in for data that is not there", async () => {
  const offline = {
    rows: (): number[] => {
      throw new Error("no network")
    },
  }
  expect(await faults(offline)).toEqual(["failed: items are there offline"])
  expect(await faults({ ...offline, examples: [4, 5] })).toEqual([])
})
