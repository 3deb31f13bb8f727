import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, it, onTestFinished } from "vitest"

import { datasetFields, environmentRows } from "./environment-rows.ts"

const options = { pack: "gsm8k", columns: ["question", "answer"] }

it("gives the built-in pack, a file, or the first rows of either", async () => {
  const folder = mkdtempSync(join(tmpdir(), "atropos-rows-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const file = join(folder, "rows.jsonl")
  writeFileSync(file, '{"question":"a","answer":"1"}\n{"question":"b","answer":"2"}\n')
  const count = async (config: object, use: "train" | "test"): Promise<number> =>
    (await (await environmentRows(datasetFields.parse(config), use, options)).toArray()).length
  expect(await count({}, "train")).toBe(400)
  expect(await count({ maxTestRows: 5 }, "test")).toBe(5)
  expect(await count({ datasetName: file }, "train")).toBe(2)
  expect(await count({ datasetName: file, maxTrainRows: 1 }, "train")).toBe(1)
})

it("points at the built-in pack when the hub cannot be had", async () => {
  const config = datasetFields.parse({
    datasetName: "someone/texts",
    datasetCache: join(tmpdir(), "atropos-no-such-cache"),
  })
  const before = process.env["HF_HUB_OFFLINE"]
  process.env["HF_HUB_OFFLINE"] = "1"
  onTestFinished(() => {
    if (before === undefined) delete process.env["HF_HUB_OFFLINE"]
    else process.env["HF_HUB_OFFLINE"] = before
  })
  await expect(environmentRows(config, "train", options)).rejects.toMatchObject({
    code: "hub-unavailable",
    message: expect.stringContaining("--env.dataset_name builtin runs on a small built-in pack (gsm8k)"),
  })
})
