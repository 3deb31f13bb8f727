import { cpSync, mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { storeCases, type StoreFixture } from "../store-conformance.ts"
import type { Store } from "../store.ts"
import { openSqliteStore } from "./sqlite-store.ts"

async function sqliteFixture(cacheBytes?: number): Promise<StoreFixture> {
  const place = mkdtempSync(join(tmpdir(), "atropos-store-"))
  const stores: Store[] = []
  let life = 0
  return {
    async open(options) {
      const store = await openSqliteStore({
        directory: join(place, String(life)),
        ...(cacheBytes === undefined ? {} : { cacheBytes }),
        ...options,
      })
      stores.push(store)
      return store
    },
    // What is on the disk at this moment, as another machine would find it; the old store goes on with its own.
    crash() {
      cpSync(join(place, String(life)), join(place, String(life + 1)), { recursive: true })
      life += 1
    },
    fill: null,
    async remove() {
      await Promise.all(stores.map((store) => store.close()))
      rmSync(place, { recursive: true })
    },
  }
}

describe("the SQLite store", () => {
  for (const each of storeCases) it(each.title, () => each.run(() => sqliteFixture()))

  it("leaves one whole file and no log behind when it closes, also while groups are being read", async () => {
    const directory = mkdtempSync(join(tmpdir(), "atropos-store-"))
    const segment = (): Uint8Array => new Uint8Array(300_000).fill(7)
    for (let round = 0; round < 8; round++) {
      const store = await openSqliteStore({ directory, cacheBytes: 0 })
      const ids = Array.from({ length: 20 }, (_, index) => round * 20 + index)
      const payloads = ids.map((groupId) => ({ groupId, segment: segment(), crc32: 0, jsonBytes: 1 }))
      await store.commit({ events: ["{}"], payloads })
      await store.read(round * 20)
      const reads = ids.map((groupId) => store.read(groupId).catch(() => null))
      await store.close()
      await Promise.all(reads)
      expect(readdirSync(directory).toSorted()).toEqual(["run.lock", "run.sqlite"])
    }
    rmSync(directory, { recursive: true })
  })
})

describe("the SQLite store without a cache", () => {
  const titles = ["gives payloads back bit by bit", "memory that was given back is not looked at again"]
  for (const each of storeCases.filter(({ title }) => titles.includes(title))) {
    it(each.title, () => each.run(() => sqliteFixture(0)))
  }
})
