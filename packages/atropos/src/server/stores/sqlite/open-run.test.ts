import { createHash } from "node:crypto"
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import fc from "fast-check"
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { isAtroposError } from "../../../runtime/errors.ts"
import type { Commit } from "../store.ts"
import { openRun } from "./open-run.ts"
import { RunDatabase } from "./run-database.ts"
import { migrations } from "./schema.ts"
import { describeSqliteError } from "./sqlite-errors.ts"
import { openSqliteStore } from "./sqlite-store.ts"

/** Made once: a run as a crash leaves it. */
const model = mkdtempSync(join(tmpdir(), "atropos-open-model-"))
let place: string
let directory: string
let file: string
beforeAll(() => layCrashedRun(model))
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), "atropos-open-"))
  directory = join(place, "run")
  file = join(directory, "run.sqlite")
})
afterEach(() => rmSync(place, { recursive: true }))
afterAll(() => rmSync(model, { recursive: true }))

const commitOf = (groupId: number): Commit => ({
  events: [`{"push":${groupId}}`],
  payloads: [{ groupId, segment: new Uint8Array(40_000).fill(groupId), crc32: 1, jsonBytes: 2 }],
})

/** Six commits, the first half in the file, the rest in its log. */
async function layCrashedRun(folder: string): Promise<void> {
  for (const half of [0, 1]) {
    const store = await openSqliteStore({ directory: join(folder, "alive") })
    for (let n = 0; n < 3; n++) await store.commit(commitOf(half * 3 + n))
    if (half === 1) cpSync(join(folder, "alive"), join(folder, "crashed"), { recursive: true })
    await store.close()
  }
}

const placeCrashedRun = (): void => cpSync(join(model, "crashed"), directory, { recursive: true })

async function openAndRecover(folder: string): Promise<unknown> {
  const store = await openSqliteStore({ directory: folder })
  try {
    return await store.recover()
  } finally {
    await store.close()
  }
}

/** The events in the folder's run, read without threads. */
async function eventsIn(folder: string): Promise<string[]> {
  const path = join(folder, "run.sqlite")
  let database: DatabaseSync | null = null
  try {
    database = openRun(folder, null)
    return new RunDatabase(path, database, 1e9).recover().events
  } catch (error) {
    throw describeSqliteError(error, path)
  } finally {
    database?.close()
  }
}

describe("a run's file", () => {
  it("is complete after a crash", async () => {
    placeCrashedRun()
    expect(await eventsIn(directory)).toHaveLength(6)
  })

  it.each<[string, () => void, code: string, message: RegExp]>([
    ["empty", () => writeFileSync(file, ""), "store-damaged", /it is empty/],
    ["gone, its log still there", () => rmSync(file), "store-damaged", /it is missing, and its -wal file is there/],
    ["cut short", () => truncateSync(file, 5 * 16_384), "store-damaged", /it was cut short: it has 81920 of \d+ bytes/],
    [
      "text",
      () => writeFileSync(file, "not a run\n".repeat(100)),
      "store-foreign",
      /does not begin like an SQLite file/,
    ],
    ["another program's database", () => otherDatabase(file), "store-foreign", /application_id 7/],
    ["of a newer version", () => setVersion(file, 99), "store-newer", /layout version 99.+versions up to \d/],
    ["without a table", () => dropTable(file, "events"), "store-damaged", /no such table: events/],
    ["without its totals", () => dropTable(file, "totals"), "store-damaged", /no such table: totals/],
    ["zeroed in the middle", () => zero(file, 2 * 16_384, 16_384), "store-damaged", /malformed/],
    ["broken in its log", () => flip(`${file}-wal`, 30_000), "store-damaged", /a bad place, which cuts off 3 commits/],
    ["broken at its log's beginning", () => flip(`${file}-wal`, 17), "store-damaged", /first bytes of its -wal file/],
  ])("that is %s is refused, says the way out, and is not touched", async (_what, harm, code, message) => {
    placeCrashedRun()
    harm()
    const before = digest(file)
    const error = await openAndRecover(directory).catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code, message: expect.stringMatching(message) as string })
    expect((error as Error).message).toMatch(
      code === "store-damaged" ? /sqlite3 .+run\.sqlite "\.recover"/ : /--data-dir|newer/,
    )
    // Damage that only reading the events shows is found when the log has been worked into the file already.
    if (!message.source.includes("malformed")) expect(digest(file)).toBe(before)
  })

  it("that is damaged somewhere is refused or whole, never shortened", async () => {
    placeCrashedRun()
    const original = { run: readFileSync(file), log: readFileSync(`${file}-wal`) }
    const whole = (await eventsIn(directory)).length
    const outcomes = { whole: 0, refused: 0 }
    let round = 0
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("run", "log"),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.integer({ min: 1, max: 255 }),
        async (which, where, flip) => {
          const folder = join(place, `round${round++}`)
          cpSync(directory, folder, { recursive: true })
          const bytes = { run: Buffer.from(original.run), log: Buffer.from(original.log) }
          // The last two transactions of a log may be cut off by a crash, so damage there is no damage.
          const end = which === "log" ? original.log.length * 0.4 : original.run.length
          const position = Math.min(Math.floor(where * end), end - 1)
          bytes[which][position]! ^= flip
          writeFileSync(join(folder, "run.sqlite"), bytes.run)
          writeFileSync(join(folder, "run.sqlite-wal"), bytes.log)
          try {
            expect(await eventsIn(folder), `${which} ${position} ${flip}`).toHaveLength(whole)
            outcomes.whole += 1
          } catch (error) {
            if (!isAtroposError(error)) throw error
            expect(error.code).toMatch(/^store-/)
            outcomes.refused += 1
          }
          rmSync(folder, { recursive: true })
        },
      ),
      { numRuns: 80 },
    )
    expect(outcomes.refused).toBeGreaterThan(0)
  })

  it("of an older version is taken to the newest", async () => {
    placeCrashedRun()
    const emptied = new DatabaseSync(file)
    const tables = emptied.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all()
    for (const { name } of tables) emptied.exec(`DROP TABLE ${String(name)}`)
    emptied.exec("PRAGMA user_version = 0")
    emptied.close()
    const database = openRun(directory, null)
    expect(database.prepare("PRAGMA user_version").get()).toEqual({ user_version: migrations.length })
    expect(new RunDatabase(file, database, 0).recover()).toEqual({ snapshot: null, events: [] })
    database.close()
  })

  it("that a crash left half laid is laid anew", async () => {
    placeCrashedRun()
    cpSync(file, `${file}.new`)
    rmSync(file)
    rmSync(`${file}-wal`)
    const store = await openSqliteStore({ directory })
    expect(await store.recover()).toEqual({ snapshot: null, events: [] })
    await store.close()
  })

  it("belongs to one server at a time; other tools read on, and it is free after a kill", async () => {
    const program = `
      import { openSqliteStore } from ${JSON.stringify(new URL("./sqlite-store.ts", import.meta.url).href)}
      const store = await openSqliteStore({ directory: ${JSON.stringify(directory)} })
      await store.commit({ events: ['{"from":"child"}'], payloads: [] })
      process.kill(process.pid, "SIGKILL")`
    expect(() => execFileSync(process.execPath, ["--eval", program])).toThrow(/SIGKILL|Command failed/)
    const store = await openSqliteStore({ directory })
    expect((await store.recover()).events).toEqual(['{"from":"child"}'])
    await expect(openSqliteStore({ directory })).rejects.toMatchObject({ code: "store-locked" })
    const tool = new DatabaseSync(file, { readOnly: true })
    expect(tool.prepare("SELECT event FROM events").all()).toHaveLength(1)
    tool.close()
    await store.commit(commitOf(1))
    await store.close()
    await (await openSqliteStore({ directory })).close()
  })
})

function digest(path: string): string | null {
  return existsSync(path) ? createHash("sha256").update(readFileSync(path)).digest("hex") : null
}

function otherDatabase(path: string): void {
  rmSync(path)
  rmSync(`${path}-wal`)
  rmSync(`${path}-shm`)
  const database = new DatabaseSync(path)
  database.exec("PRAGMA application_id = 7; CREATE TABLE t (x)")
  database.close()
}

function setVersion(path: string, version: number): void {
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA user_version = ${version}`)
  database.close()
}

function dropTable(path: string, table: string): void {
  const database = new DatabaseSync(path)
  database.exec(`DROP TABLE ${table}`)
  database.close()
}

function flip(path: string, position: number): void {
  const bytes = readFileSync(path)
  bytes[position]! ^= 1
  writeFileSync(path, bytes)
}

function zero(path: string, from: number, length: number): void {
  writeFileSync(path, readFileSync(path).fill(0, from, from + length))
}
