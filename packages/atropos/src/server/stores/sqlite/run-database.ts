import { crc32 as zlibCrc32 } from "node:zlib"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { AtroposError } from "../../../runtime/errors.ts"
import { duplicateGroup } from "../store-errors.ts"
import type { Commit, Recovered } from "../store.ts"
import { damagedRun } from "./sqlite-errors.ts"

/** Bytes the file holds, as its `totals` row says. */
export interface Totals {
  payloadBytes: number
  releasedBytes: number
  events: number
  eventBytes: number
  snapshotBytes: number
}

/** Events that may come without a word in the totals: writing a page less is a good part of a small commit. */
const uncountedEvents = 64

/** Retention works through at most this many groups a transaction, so that no commit waits long for it. */
const dropsAtOnce = 256

/**
 * A run's tables, synchronously: what one writer does inside a transaction. Knows nothing of threads, files or
 * locks. When a call throws, the transaction is gone and the totals are what the file says.
 */
export class RunDatabase {
  readonly #file: string
  readonly #database: DatabaseSync
  readonly #retainBytes: number
  readonly #statements: Statements
  #totals: Totals
  /** The totals as the file has them: of events they may tell fewer than there are. */
  #written: Totals
  #run: number

  constructor(file: string, database: DatabaseSync, retainBytes: number) {
    this.#file = file
    this.#database = database
    this.#retainBytes = retainBytes
    this.#statements = RunDatabase.prepare(database)
    this.#totals = this.#readTotals()
    this.#written = { ...this.#totals }
    this.#run = this.#readRun()
  }

  /** Throws when a table or column is missing. */
  static prepare(database: DatabaseSync): Statements {
    const names = Object.keys(statements) as (keyof typeof statements)[]
    return Object.fromEntries(names.map((name) => [name, database.prepare(statements[name])])) as Statements
  }

  get totals(): Readonly<Totals> {
    return this.#totals
  }

  recover(): Recovered {
    const row = this.#statements.readSnapshot.get()
    const snapshot = row === undefined ? null : String(row["state"])
    if (row !== undefined && zlibCrc32(String(row["state"])) !== row["crc32"]) throw this.#damaged("its snapshot")
    const events: string[] = []
    for (const { event, crc32 } of this.#statements.readEvents.iterate()) {
      const text = String(event)
      if (zlibCrc32(text) !== crc32) throw this.#damaged(`event ${events.length} since the last snapshot`)
      events.push(text)
    }
    if (events.length < this.#totals.events) throw this.#damaged(`the list of ${this.#totals.events} events`)
    this.#totals.events = events.length
    this.#totals.eventBytes = events.reduce((sum, { length }) => sum + length, 0)
    return { snapshot, events }
  }

  /** All of them or none, durable on return. */
  commit(commits: readonly Commit[]): void {
    this.#transact(() => {
      for (const commit of commits) this.#apply(commit)
      this.#dropOldest()
    })
  }

  compact(snapshot: string): void {
    this.#transact(() => {
      this.#statements.deleteEvents.run()
      this.#statements.writeSnapshot.run(snapshot, zlibCrc32(snapshot))
      this.#totals.events = 0
      this.#totals.eventBytes = 0
      this.#totals.snapshotBytes = snapshot.length
    })
  }

  #apply(commit: Commit): void {
    const { insertEvent, insertGroup, insertPayload, releaseRange, releaseAll, beginRun } = this.#statements
    const totals = this.#totals
    if (commit.beginsRun === true) {
      releaseAll.run()
      totals.releasedBytes = totals.payloadBytes
      this.#run += 1
      beginRun.run(this.#run, new Date().toISOString())
    }
    for (const event of commit.events) {
      insertEvent.run(event, zlibCrc32(event))
      totals.events += 1
      totals.eventBytes += event.length
    }
    for (const { groupId, segment, crc32, jsonBytes } of commit.payloads) {
      if (insertGroup.run(groupId, this.#run, segment.length, zlibCrc32(segment), jsonBytes, crc32).changes === 0) {
        throw duplicateGroup(groupId)
      }
      insertPayload.run(groupId, segment)
      totals.payloadBytes += segment.length
    }
    for (const [first, last] of rangesOf(commit.released ?? [])) {
      for (const row of releaseRange.all(first, last)) totals.releasedBytes += Number(row["segment_bytes"])
    }
  }

  #dropOldest(): void {
    const { oldestReleased, deleteGroup, deletePayload } = this.#statements
    const totals = this.#totals
    if (totals.releasedBytes <= this.#retainBytes) return
    for (const row of oldestReleased.all(dropsAtOnce)) {
      if (totals.releasedBytes <= this.#retainBytes) return
      const id = Number(row["id"])
      deletePayload.run(id)
      deleteGroup.run(id)
      totals.payloadBytes -= Number(row["segment_bytes"])
      totals.releasedBytes -= Number(row["segment_bytes"])
    }
  }

  #transact(work: () => void): void {
    const before = { ...this.#totals }
    this.#statements.begin.run()
    try {
      work()
      const isWritten = this.#writeTotals()
      this.#statements.commit.run()
      if (isWritten) this.#written = { ...this.#totals }
    } catch (error) {
      // SQLite has rolled back by itself after some errors, such as a full disk.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
      this.#totals = before
      this.#run = this.#readRun()
      throw error
    }
  }

  /** Unless nothing has changed but the events, and those by a few. */
  #writeTotals(): boolean {
    const { payloadBytes, releasedBytes, events, eventBytes, snapshotBytes } = this.#totals
    const written = this.#written
    const isSame = payloadBytes === written.payloadBytes && releasedBytes === written.releasedBytes
    const uncounted = events - written.events
    if (isSame && snapshotBytes === written.snapshotBytes && uncounted >= 0 && uncounted < uncountedEvents) return false
    this.#statements.writeTotals.run(payloadBytes, releasedBytes, events, eventBytes, snapshotBytes)
    return true
  }

  #readTotals(): Totals {
    const row = this.#statements.readTotals.get()
    if (row === undefined) throw this.#damaged("the row of totals")
    return {
      payloadBytes: Number(row["payload_bytes"]),
      releasedBytes: Number(row["released_bytes"]),
      events: Number(row["events"]),
      eventBytes: Number(row["event_bytes"]),
      snapshotBytes: Number(row["snapshot_bytes"]),
    }
  }

  #readRun(): number {
    return Number(this.#statements.readRun.get()?.["run"])
  }

  #damaged(what: string): AtroposError {
    return damagedRun(this.#file, `${what} is not what was written`)
  }
}

/** The first and last of each run of ids: the groups of a batch were mostly pushed one after another. */
function* rangesOf(ids: readonly number[]): Generator<[first: number, last: number]> {
  for (let index = 0; index < ids.length;) {
    const first = ids[index] ?? 0
    let last = first
    for (index += 1; ids[index] === last + 1; index += 1) last += 1
    yield [first, last]
  }
}

type Statements = Readonly<Record<keyof typeof statements, StatementSync>>

const statements = {
  begin: "BEGIN IMMEDIATE",
  commit: "COMMIT",
  readSnapshot: "SELECT state, crc32 FROM snapshot",
  readEvents: "SELECT event, crc32 FROM events ORDER BY position",
  readTotals: "SELECT * FROM totals",
  readRun: "SELECT max(run) AS run FROM runs",
  writeTotals:
    "UPDATE totals SET payload_bytes = ?, released_bytes = ?, events = ?, event_bytes = ?, snapshot_bytes = ?",
  writeSnapshot: "INSERT OR REPLACE INTO snapshot VALUES (1, ?, ?)",
  deleteEvents: "DELETE FROM events",
  beginRun: "INSERT INTO runs VALUES (?, ?)",
  insertEvent: "INSERT INTO events (event, crc32) VALUES (?, ?)",
  insertGroup: `INSERT OR IGNORE INTO groups (id, run, segment_bytes, segment_crc32, json_bytes, json_crc32)
                VALUES (?, ?, ?, ?, ?, ?)`,
  insertPayload: "INSERT INTO payloads VALUES (?, ?)",
  releaseRange: "UPDATE groups SET released = 1 WHERE id BETWEEN ? AND ? AND released = 0 RETURNING segment_bytes",
  releaseAll: "UPDATE groups SET released = 1 WHERE released = 0",
  oldestReleased: "SELECT id, segment_bytes FROM groups WHERE released = 1 ORDER BY id LIMIT ?",
  deleteGroup: "DELETE FROM groups WHERE id = ?",
  deletePayload: "DELETE FROM payloads WHERE id = ?",
}
