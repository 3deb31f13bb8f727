import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, describe, expect, test } from "vitest"

import { loadTokenizer } from "./load-tokenizer.ts"

const vectors = new URL("../../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const mini = join(vectors, "mini")

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "atropos-tokenizer-"))
})
afterEach(async () => {
  await rm(folder, { recursive: true })
})

describe("a tokenizer from a directory", () => {
  test("encodes without a start token and decodes with special tokens kept", async () => {
    const tokenizer = await loadTokenizer(mini)
    const text = "<|start|>user\nHello , world <|end|>\n"
    const ids = tokenizer.encode(text)
    expect(ids[0]).toBe(tokenizer.tokenToId("<|start|>"))
    expect(tokenizer.decode(ids)).toBe(text)
    expect(tokenizer.isAddedToken(ids[0]!)).toBe(true)
    expect(tokenizer.isAddedToken(ids[1]!)).toBe(false)
  })

  test("knows its special tokens, stop tokens and template", async () => {
    const tokenizer = await loadTokenizer(join(vectors, "tiny-chatml"))
    expect(tokenizer.eosToken).toBe("<|im_end|>")
    expect(tokenizer.stopTokenIds).toEqual([tokenizer.eosTokenId])
    expect(tokenizer.bosToken).toBeUndefined()
    expect(tokenizer.chatTemplate).toContain("<|im_start|>")
    expect(tokenizer.specialTokens).toEqual({ eos_token: "<|im_end|>", pad_token: "<|pad|>" })
  })

  test("gives no text to ids beyond the vocabulary", async () => {
    const tokenizer = await loadTokenizer(mini)
    expect(tokenizer.decode([10 ** 6])).toBe("")
    expect(tokenizer.decode([])).toBe("")
  })

  test("names the file that it looked for", async () => {
    await expect(loadTokenizer(folder)).rejects.toMatchObject({
      code: "bad-tokenizer",
      message: expect.stringContaining(join(folder, "tokenizer.json")),
    })
  })
})

describe("a tokenizer from the hub", () => {
  const hub = (files: Record<string, string>, asked: string[]): typeof fetch =>
    (async (input: string | URL | Request) => {
      const url = new URL(input instanceof Request ? input.url : input)
      const file = url.pathname.split("/").at(-1) ?? ""
      asked.push(file)
      const body = files[file]
      return body === undefined
        ? new Response("Entry not found", { status: 404, headers: { "x-error-code": "EntryNotFound" } })
        : new Response(body, {
            headers: {
              etag: '"1"',
              "content-length": String(body.length),
              "content-range": `bytes 0-0/${body.length}`,
            },
          })
    }) as typeof fetch

  test("is downloaded once and then read from the cache", async () => {
    const asked: string[] = []
    const files = {
      "tokenizer.json": await readFile(join(mini, "tokenizer.json"), "utf8"),
      "tokenizer_config.json": await readFile(join(mini, "tokenizer_config.json"), "utf8"),
    }
    const options = { cacheFolder: folder, sharedCacheFolder: folder, offline: false }
    const first = await loadTokenizer("owner/model", { ...options, fetch: hub(files, asked) })
    expect(first.eosToken).toBe("<|end|>")
    asked.length = 0
    const second = await loadTokenizer("owner/model", { ...options, fetch: hub(files, asked) })
    expect(second.encode("abc")).toEqual(first.encode("abc"))
    expect(asked).toEqual([])
  })

  test("is found in the cache that Python tools fill", async () => {
    const snapshot = join(folder, "models--owner--model", "snapshots", "0123abc")
    await mkdir(snapshot, { recursive: true })
    await cp(mini, snapshot, { recursive: true })
    const tokenizer = await loadTokenizer("owner/model", {
      cacheFolder: join(folder, "ours"),
      sharedCacheFolder: folder,
      revision: "0123abc",
      offline: true,
    })
    expect(tokenizer.eosToken).toBe("<|end|>")
  })

  test.each([
    ["offline", { offline: true }],
    ["without a network", { offline: false, fetch: () => Promise.reject(new TypeError("fetch failed")) }],
  ])("fails %s with the path it looked for", async (_name, how) => {
    await expect(
      loadTokenizer("owner/model", { cacheFolder: folder, sharedCacheFolder: folder, ...how }),
    ).rejects.toMatchObject({
      code: "hub-unavailable",
      message: expect.stringContaining(join(folder, "owner--model", "main", "tokenizer.json")),
    })
  })
})
