import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import type { LogEntry } from "../protocol/messages.ts"
import { AtroposError } from "../runtime/errors.ts"
import { silentLogger } from "../runtime/logger.ts"
import { TrajectoryClient } from "../protocol/trajectory-client.ts"
import { createMemoryStore } from "../server/stores/memory-store.ts"
import { createTrajectoryServer } from "../server/trajectory-server.ts"
import { createConsoleTracker } from "./console-tracker.ts"
import { createJsonLinesTracker } from "./json-lines-tracker.ts"
import { createServerTracker } from "./server-tracker.ts"
import { combineTrackers, type MetricsEntry } from "./tracker.ts"

function entry(step: number, change: Partial<MetricsEntry> = {}): MetricsEntry {
  return { source: "env:small_0", step, time: 1_700_000_000_500, metrics: { "train/a": step }, ...change }
}

test("the console gets one line an entry with the main metrics, or all as JSON", () => {
  const lines: string[] = []
  const write = (text: string): void => void lines.push(text)
  const metrics = {
    "x_train/b": 0.123456,
    "x_train/a": 3,
    "x_train/a_std": 1,
    "x_train_perf/t_mean": 2,
    "server/server_0_t": 1,
  }
  createConsoleTracker({ write, json: false }).log(entry(4, { metrics }))
  createConsoleTracker({ write, json: true }).log(entry(4, { metrics }))
  expect(lines[0]).toBe("env:small_0 step 4  x_train/a=3  x_train/b=0.1235\n")
  expect(JSON.parse(lines[1] ?? "")).toMatchObject({ event: "metrics", step: 4, metrics })
})

test("a JSON lines file is appended to, with words for what JSON has no number for", async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-tracking-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const path = join(directory, "deep", "metrics.jsonl")
  for (const value of [1, Number.NaN, Number.NEGATIVE_INFINITY]) {
    const tracker = createJsonLinesTracker({ path, logger: silentLogger })
    tracker.log(entry(0, { metrics: { value } }))
    await tracker.close()
    await tracker.close()
    tracker.log(entry(1))
  }
  const values = readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as MetricsEntry).metrics["value"])
  expect(values).toEqual([1, "NaN", "-Infinity"])
})

test("the server gets what was logged in order, a table an entry, and again until it has it", async () => {
  const received: LogEntry[] = []
  let failures = 2
  const tracker = createServerTracker({
    logger: silentLogger,
    client: {
      log: async (entries) => {
        if (failures-- > 0) throw new AtroposError("server-unreachable", "refused", { retryable: true })
        received.push(...entries)
      },
    },
  })
  const table = { columns: ["text"], rows: [["x"]] }
  tracker.log(entry(1, { metrics: { a: 1, b: Number.NaN } }))
  tracker.log(
    entry(2, {
      tables: [
        { name: "one", ...table },
        { name: "two", ...table },
      ],
    }),
  )
  await tracker.close()
  expect(received).toEqual([
    { source: "env:small_0", step: 1, time: 1_700_000_000.5, metrics: { a: 1 } },
    {
      source: "env:small_0",
      step: 2,
      time: 1_700_000_000.5,
      metrics: { "train/a": 2 },
      table: { name: "one", ...table },
    },
    { source: "env:small_0", step: 2, time: 1_700_000_000.5, metrics: {}, table: { name: "two", ...table } },
  ])
})

test("a trajectory server of ours takes them, tables and all", async () => {
  const server = createTrajectoryServer({ store: createMemoryStore() })
  const client = new TrajectoryClient({ url: await server.listen({ host: "127.0.0.1", port: 0 }) })
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  const tracker = createServerTracker({ client, logger, closeMs: 20_000 })
  tracker.log(entry(1, { tables: [{ name: "small_0_train/rollouts", columns: ["text", "score"], rows: [["x", 1]] }] }))
  await tracker.close()
  await client.close()
  await server.close()
  expect(warnings).toEqual([])
})

test("a server that takes no metrics is asked once, and one that is away costs the oldest entries", async () => {
  const warnings: string[] = []
  const logger = { ...silentLogger, warn: (message: string) => void warnings.push(message) }
  let calls = 0
  const refusing = createServerTracker({
    logger,
    client: {
      log: () => {
        calls += 1
        return Promise.reject(new AtroposError("server-refused", "404", { retryable: false }))
      },
    },
  })
  for (let step = 0; step < 5; step++) {
    refusing.log(entry(step))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await refusing.close()
  expect(calls).toBe(1)

  const away = createServerTracker({
    logger,
    capacity: 3,
    closeMs: 0,
    client: { log: () => Promise.reject(new AtroposError("server-unreachable", "refused", { retryable: true })) },
  })
  for (let step = 0; step < 10; step++) away.log(entry(step))
  await away.close()
  expect(warnings).toEqual([
    expect.stringContaining("takes no metrics: 404"),
    expect.stringContaining("the oldest are dropped"),
    "10 entries of metrics did not reach the trajectory server",
  ])
})

test("all trackers get every entry", async () => {
  const seen: string[] = []
  const tracker = (name: string) => ({
    log: ({ step }: MetricsEntry) => void seen.push(`${name}${step}`),
    close: async () => void seen.push(name),
  })
  const both = combineTrackers([tracker("a"), tracker("b")])
  both.log(entry(1))
  await both.close()
  expect(seen).toEqual(["a1", "b1", "a", "b"])
})
