import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { mountSmallDisk } from "../../faults/small-disk.ts"
import { storeCases, type StoreFixture } from "../store-conformance.ts"
import type { Commit, Store } from "../store.ts"
import { openSqliteStore } from "./sqlite-store.ts"

const commitOf = (groupId: number, megabytes: number): Commit => ({
  events: [`{"push":${groupId}}`],
  payloads: [{ groupId, segment: new Uint8Array(megabytes * 1e6).fill(groupId), crc32: 1, jsonBytes: 2 }],
})

describe("on a disk that is full", () => {
  /** Null where no small disk can be had. */
  function smallDiskFixture(): StoreFixture | null {
    const disk = mountSmallDisk(64)
    if (disk === null) return null
    const stores: Store[] = []
    return {
      async open(options) {
        const store = await openSqliteStore({ directory: join(disk.path, "run"), ...options })
        stores.push(store)
        return store
      },
      crash: null,
      fill: (full) => disk.fill(full ? 9 : null),
      async remove() {
        await Promise.all(stores.map((store) => store.close()))
        disk.remove()
      },
    }
  }

  const fullDisk = storeCases.find(({ title }) => title.startsWith("a full disk"))!
  it(fullDisk.title, async ({ skip }) => {
    const fixture = smallDiskFixture()
    if (fixture === null) return skip()
    await fullDisk.run(async () => fixture)
  })

  it("small commits go on while there is room for them, and the run opens again", async ({ skip }) => {
    const fixture = smallDiskFixture()
    if (fixture === null) return skip()
    const store = await fixture.open()
    await store.commit(commitOf(0, 1))
    await fixture.fill!(true)
    const outcomes: string[] = []
    for (let n = 1; n <= 8; n++) {
      const call = store.commit(commitOf(n, 4))
      outcomes.push(
        await call.then(
          () => "kept",
          (error: { code: string }) => error.code,
        ),
      )
    }
    expect(new Set(outcomes)).toEqual(new Set(["kept", "store-full"]))
    const kept = outcomes.flatMap((outcome, index) => (outcome === "kept" ? [index + 1] : []))
    await store.close()
    const again = await fixture.open()
    expect((await again.recover()).events).toEqual([0, ...kept].map((n) => `{"push":${n}}`))
    for (const n of kept) expect((await again.read(n)).segment.length).toBe(4e6)
    await fixture.fill!(false)
    await again.commit(commitOf(9, 4))
    await fixture.remove()
  })
})

describe("a file with a limit", () => {
  it("refuses as a full disk does, and takes more once retention has made room", async () => {
    const directory = mkdtempSync(join(tmpdir(), "atropos-limit-"))
    const store = await openSqliteStore({ directory, maxFileBytes: 8e6, retainBytes: 0 })
    await store.commit(commitOf(1, 3))
    await store.commit(commitOf(2, 3))
    await expect(store.commit(commitOf(3, 3))).rejects.toMatchObject({ code: "store-full", retryable: true })
    expect(store.payloadBytes).toBe(6e6)
    await store.commit({ events: [], payloads: [], released: [1] })
    await store.commit(commitOf(3, 3))
    expect((await store.read(2)).segment[0]).toBe(2)
    expect((await store.read(3)).segment[0]).toBe(3)
    await store.close()
    rmSync(directory, { recursive: true })
  })
})
