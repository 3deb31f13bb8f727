import { cpSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, it } from "vitest"
import { storeCases, type StoreFixture } from "../store-conformance.ts"
import type { Store } from "../store.ts"
import { openSqliteStore } from "./sqlite-store.ts"

async function sqliteFixture(): Promise<StoreFixture> {
  const place = mkdtempSync(join(tmpdir(), "atropos-store-"))
  const stores: Store[] = []
  let life = 0
  return {
    async open(options) {
      const store = await openSqliteStore({ directory: join(place, String(life)), ...options })
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
  for (const each of storeCases) it(each.title, () => each.run(sqliteFixture))
})
