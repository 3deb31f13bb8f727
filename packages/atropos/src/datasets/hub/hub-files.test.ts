import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

import { afterEach, beforeEach, expect, it } from "vitest"

import { openDataset, type DatasetOptions } from "../open-dataset.ts"
import { openHub, type HubFixture } from "./hub-fixture.ts"

const rows = (count: number, word = "row"): string =>
  Array.from({ length: count }, (_, index) => `${JSON.stringify({ text: `${word} ${index}` })}\n`).join("")

let hub: HubFixture
let folder: string
const warnings: string[] = []

beforeEach(async () => {
  hub = await openHub()
  folder = mkdtempSync(join(tmpdir(), "atropos-hub-"))
  warnings.length = 0
  hub.put("someone/texts", "README.md", "# Texts\n")
  hub.put("someone/texts", "data/train.jsonl", rows(40))
  hub.put("someone/texts", "data/test.jsonl", rows(3, "test"))
})

afterEach(async () => {
  await hub.close()
  rmSync(folder, { recursive: true })
})

function options(more: DatasetOptions = {}): DatasetOptions {
  return {
    endpoint: hub.endpoint,
    cacheFolder: join(folder, "cache"),
    sharedCacheFolder: join(folder, "shared"),
    offline: false,
    logger: { debug() {}, info() {}, warn: (message) => void warnings.push(message), error() {} },
    ...more,
  }
}

async function texts(id: string, more?: DatasetOptions): Promise<unknown[]> {
  return (await (await openDataset(id, options(more))).toArray()).map(({ text }) => text)
}

function downloads(): string[] {
  return hub.requests.filter(({ path }) => path.includes("/resolve/")).map(({ path }) => path.split("/").at(-1) ?? "")
}

function cached(name: string): string {
  const found = readdirSync(join(folder, "cache"), { recursive: true, encoding: "utf8" }).find((path) =>
    path.endsWith(name),
  )
  return join(folder, "cache", found ?? "none")
}

it("downloads the files of a split, once", async () => {
  expect(await texts("someone/texts", { split: "test" })).toEqual(["test 0", "test 1", "test 2"])
  expect(await texts("someone/texts", { split: "test" })).toHaveLength(3)
  expect(downloads()).toEqual(["README.md", "test.jsonl"])
})

it("goes on where a download was cut", async () => {
  // More than a connection holds in its buffers, so that something has come before the cut.
  hub.put("someone/texts", "data/train.jsonl", rows(4000, "long ".repeat(400)))
  await texts("someone/texts", { split: "test" })
  hub.cutDownloads(2)
  expect(await texts("someone/texts")).toHaveLength(4000)
  const parts = hub.requests.filter(({ path }) => path.endsWith("train.jsonl")).map(({ range }) => range)
  expect(parts[0]).toBeUndefined()
  expect(parts.slice(1).every((range) => /^bytes=[1-9]\d+-$/.test(range ?? ""))).toBe(true)
  expect(parts).toHaveLength(3)
})

it("goes on with what an earlier process left, and throws away what does not fit", async () => {
  await texts("someone/texts", { split: "test" })
  const path = join(dirname(cached("test.jsonl")), "train.jsonl")
  writeFileSync(`${path}.incomplete`, rows(40).slice(0, 100))
  expect(await texts("someone/texts")).toHaveLength(40)
  expect(hub.requests.at(-1)?.range).toBe("bytes=100-")
  rmSync(path)
  writeFileSync(`${path}.incomplete`, "x".repeat(100))
  expect(await texts("someone/texts")).toHaveLength(40)
  expect(hub.requests.slice(-2).map(({ range }) => range)).toEqual(["bytes=100-", undefined])
})

it("downloads a file again that has changed in the cache, and says so", async () => {
  await texts("someone/texts", { split: "test" })
  const path = cached("test.jsonl")
  const content = readFileSync(path, "utf8")
  writeFileSync(path, content.replace("test 1", "TEST 1"))
  expect(statSync(path).size).toBe(content.length)
  expect(await texts("someone/texts", { split: "test" })).toEqual(["test 0", "test 1", "test 2"])
  expect(warnings).toEqual(["a file in the cache has changed: downloading it again"])
})

it("gives up on a file that never is what was announced", async () => {
  hub.garbleDownloads(5)
  await expect(texts("someone/texts")).rejects.toMatchObject({
    code: "hub-unavailable",
    message: expect.stringContaining("is not what the hub announced"),
  })
})

it("takes a new commit when there is one, and a fixed revision when it is asked for", async () => {
  await texts("someone/texts", { split: "test" })
  hub.put("someone/texts", "data/test.jsonl", rows(2, "newer"))
  hub.put("someone/texts", "data/test.jsonl", rows(1, "old"), "v1")
  expect(await texts("someone/texts", { split: "test" })).toEqual(["newer 0", "newer 1"])
  expect(await texts("someone/texts", { split: "test", revision: "v1" })).toEqual(["old 0"])
})

it("works from the cache when the hub is down or downloads are switched off", async () => {
  await texts("someone/texts", { split: "test" })
  hub.fail(503)
  expect(await texts("someone/texts", { split: "test" })).toHaveLength(3)
  expect(warnings).toEqual(["the hub did not answer: using what is in the cache"])
  const asked = hub.requests.length
  expect(await texts("someone/texts", { split: "test", offline: true })).toHaveLength(3)
  expect(hub.requests).toHaveLength(asked)
})

it("names the place that would do when there is neither a network nor a copy", async () => {
  const place = join(folder, "cache", "datasets--someone--texts")
  await expect(texts("someone/texts", { offline: true })).rejects.toMatchObject({
    code: "hub-unavailable",
    message: expect.stringMatching(
      /not in the cache .*datasets--someone--texts.*downloads are switched off.*local copy/s,
    ),
    facts: { path: place },
  })
  await texts("someone/texts", { split: "test" })
  await expect(texts("someone/texts", { offline: true })).rejects.toMatchObject({
    message: expect.stringMatching(/data\/train\.jsonl of someone\/texts is not in the cache \(.*train\.jsonl\)/),
  })
  await hub.close()
  await expect(texts("other/one")).rejects.toMatchObject({ code: "hub-unavailable", retryable: true })
  hub = await openHub()
})

it("uses the cache of the Python tools", async () => {
  const shared = join(folder, "shared", "datasets--someone--texts")
  mkdirSync(join(shared, "refs"), { recursive: true })
  mkdirSync(join(shared, "snapshots", "abc", "data"), { recursive: true })
  writeFileSync(join(shared, "refs", "main"), "abc")
  writeFileSync(join(shared, "snapshots", "abc", "data", "train-00000-of-00001.jsonl"), rows(5, "shared"))
  expect(await texts("someone/texts", { offline: true })).toHaveLength(5)
})

it("sends the token, and says what to do when the hub wants one", async () => {
  hub.requireToken("hf_secret")
  const refused = texts("someone/texts")
  await expect(refused).rejects.toMatchObject({ message: expect.stringMatching(/refused access.*HF_TOKEN/s) })
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining("hf_secret") })
  expect(await texts("someone/texts", { accessToken: "hf_secret", split: "test" })).toHaveLength(3)
})

it("says which splits and configurations there are", async () => {
  await expect(texts("someone/texts", { split: "validation" })).rejects.toMatchObject({
    code: "dataset-missing",
    message: expect.stringContaining('no split "validation"; it has test, train'),
  })
  await expect(texts("nobody/nothing")).rejects.toMatchObject({
    code: "hub-unavailable",
    message: expect.stringContaining("the hub has no such data set or revision"),
  })
})

it("follows the front matter of the README, as the hub's own viewer does", async () => {
  const readme = [
    "---",
    "configs:",
    "- config_name: main",
    "  data_files:",
    "  - split: train",
    "    path: main/train-*",
    "  - split: test",
    "    path: [main/test-*]",
    "- config_name: hard",
    "  default: true",
    "  data_files: hard/**",
    "---",
    "# Sums",
  ].join("\n")
  hub.put("someone/sums", "README.md", readme)
  hub.put("someone/sums", "main/train-00000.jsonl", rows(1, "first"))
  hub.put("someone/sums", "main/train-00001.jsonl", rows(1, "second"))
  hub.put("someone/sums", "main/test-00000.jsonl", rows(1, "test"))
  hub.put("someone/sums", "hard/a/b.jsonl", rows(1, "hard"))
  expect(await texts("someone/sums", { config: "main" })).toEqual(["first 0", "second 0"])
  expect(await texts("someone/sums", { config: "main", split: "test" })).toEqual(["test 0"])
  expect(await texts("someone/sums")).toEqual(["hard 0"])
  await expect(texts("someone/sums", { config: "easy" })).rejects.toMatchObject({
    message: expect.stringContaining('no configuration "easy"; it has main, hard'),
  })
})

it("takes the converted files of a data set that is a program", async () => {
  hub.put("someone/script", "script.py", "print()")
  hub.put("someone/script", "main/train/0000.jsonl", rows(2, "converted"), "refs/convert/parquet")
  expect(await texts("someone/script", { config: "main" })).toEqual(["converted 0", "converted 1"])
})
