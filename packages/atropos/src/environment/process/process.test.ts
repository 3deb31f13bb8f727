import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import { createStubTokenizer } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { environmentConfig } from "../config/environment-config.ts"
import { defineEnvironment, type EnvironmentDefinition } from "../define-environment.ts"
import { createRandom } from "../random.ts"
import { createSessionFactory } from "../session-factory.ts"
import { ScriptedPolicy, type ScriptedPolicyOptions } from "../testing/scripted-policy.ts"
import type { RunListener } from "../serve/run-listener.ts"
import { processItems, type ProcessResult } from "./process.ts"

interface RunChange {
  exact?: boolean
  signal?: AbortSignal
  listeners?: readonly RunListener[]
}

async function run(
  change: Partial<EnvironmentDefinition<number>>,
  answer: ScriptedPolicyOptions["answer"],
  totalSteps: number,
  { exact = true, signal = new AbortController().signal, listeners = [] }: RunChange = {},
): Promise<
  ProcessResult & { left: string[]; lines: { scores: number[]; messages: { content: string }[][] }[]; html: string }
> {
  const directory = mkdtempSync(join(tmpdir(), "atropos-process-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const config = environmentConfig.parse({
    groupSize: 2,
    totalSteps,
    includeMessages: true,
    ensureScoresAreNotSame: false,
  })
  const tokenizer = createStubTokenizer()
  const tiny = defineEnvironment<number>({
    name: "tiny",
    rows: [1, 2, 3, 4, 5, 6, 7, 8],
    shuffle: false,
    prompt: (row) => [{ role: "user", content: `row ${row}` }],
    score: (row) => row,
    ...change,
  })
  const result = await processItems({
    environment: new tiny({ config, logger: silentLogger, random: createRandom(1), tokenizer, helpers: {} }),
    name: "tiny",
    config,
    path: join(directory, "groups.jsonl"),
    openSession: createSessionFactory({
      policy: new ScriptedPolicy({ tokenizer, answer }),
      tokenizer,
      config,
      maxTokenLen: () => -1,
      exact,
    }),
    concurrency: 3,
    random: createRandom(2),
    logger: silentLogger,
    signal,
    listeners,
  })
  const read = (path: string | undefined): string => (path === undefined ? "" : readFileSync(path, "utf8"))
  const text = read(result.files?.groupsFile)
  const lines = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as never)
  return { ...result, lines, html: read(result.files?.page), left: readdirSync(directory) }
}

test("groups stand in the order of their items, however long each takes", async () => {
  const waits = [30, 1, 15, 1]
  const { lines, summary } = await run(
    {},
    async ({ prompt }) => {
      const row = Number(/row (\d)/.exec(prompt)?.[1])
      await new Promise((resolve) => setTimeout(resolve, waits[row - 1]))
      return "x"
    },
    4,
  )
  expect(lines.map(({ scores }) => scores[0])).toEqual([1, 2, 3, 4])
  expect(summary).toMatchObject({ end: "steps", items: { taken: 4, sent: 4, dropped: 0 }, groupsSent: 4 })
})

test("an item that fails is reported and another is taken in its place", async () => {
  const { lines, summary } = await run({}, ({ prompt }) => (prompt.includes("row 2") ? new Error("boom") : "x"), 4)
  expect(lines.map(({ scores }) => scores[0])).toEqual([1, 3, 4, 5])
  expect(summary).toMatchObject({
    end: "steps",
    items: { taken: 5, sent: 4, dropped: 1 },
    rolloutsFailed: { environment: 2 },
  })
})

test("ends well when there are no more items, and gives up when none gives anything", async () => {
  expect((await run({ epochs: 1 }, () => "x", 100)).summary).toMatchObject({ end: "exhausted", items: { sent: 8 } })
  const hopeless = await run({}, () => new Error("down"), 100)
  expect(hopeless.summary.end).toBe("failed")
  expect(hopeless.summary.items.taken).toBeLessThan(25)
  expect(hopeless.left).toEqual([])
})

test("when it is stopped, whole groups are kept, and an item that was cut short is no failure", async () => {
  const stop = new AbortController()
  const drops: unknown[] = []
  const listeners: RunListener[] = [{ groupSent: () => stop.abort(), groupDrop: (drop) => void drops.push(drop) }]
  // The first item is answered, the others never.
  const answer: ScriptedPolicyOptions["answer"] = ({ prompt }) =>
    prompt.includes("row 1") ? "x" : Promise.withResolvers<string>().promise
  const { lines, summary, left } = await run({}, answer, 8, { signal: stop.signal, listeners })
  expect(lines.map(({ scores }) => scores[0])).toEqual([1])
  expect(summary).toMatchObject({ end: "stopped", items: { sent: 1, dropped: 0 }, groupsDropped: {} })
  expect(summary.items.unfinished).toBe(summary.items.taken - 1)
  expect(drops).toEqual([])
  expect(left.toSorted()).toEqual(["groups.html", "groups.jsonl"])
})

test("when it is stopped before there is a group, it leaves no file", async () => {
  const stop = new AbortController()
  const answer: ScriptedPolicyOptions["answer"] = () => {
    stop.abort()
    return Promise.withResolvers<string>().promise
  }
  const { files, left, summary } = await run({}, answer, 8, { signal: stop.signal })
  expect({ files, left, dropped: summary.groupsDropped }).toEqual({ files: undefined, left: [], dropped: {} })
})

test("files take groups of providers that tell no token ids, without logprobs", async () => {
  const { lines, summary } = await run({}, () => "x", 2, { exact: false })
  expect(summary).toMatchObject({ groupsSent: 2, groupsDropped: {} })
  expect(lines[0]?.scores).toEqual([1, 1])
  expect(lines[0]).not.toHaveProperty("inference_logprobs")
})

test("the page has everything in it, escaped, and loads nothing", async () => {
  const { html } = await run({}, () => `<script src="http://x">&`, 1)
  expect(html).toContain("&lt;script src=&quot;http://x&quot;&gt;&amp;")
  expect(html).not.toContain("<script")
  expect(html).toContain("default-src 'none'")
  expect(html).toMatch(/<\/html>\n$/)
})
