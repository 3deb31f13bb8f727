import { crc32 as zlibCrc32 } from "node:zlib"
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { duplicateGroup } from "../store-errors.ts"
import type { Commit, Recovered } from "../store.ts"

/** Bytes the file holds, as its `totals` row says. */
export interface Totals {
  payloadBytes: number
  releasedBytes: number
  eventBytes: number
  snapshotBytes: number
}

/** Retention works through at most this many groups a transaction, so that no commit waits long for it. */
const dropsAtOnce = 256

/**
 * A run's tables, synchronously: what one writer does inside a transaction. Knows nothing of threads, files or
 * locks. When a call throws, the transaction is gone and the totals are what the file says.
 */
export class RunDatabase {
  readonly #database: DatabaseSync
  readonly #retainBytes: number
  readonly #statements: Readonly<Record<keyof typeof statements, StatementSync>>
  #totals: Totals
  #run: number

  constructor(database: DatabaseSync, retainBytes: number) {
    this.#database = database
    this.#retainBytes = retainBytes
    const prepared: Partial<Record<keyof typeof statements, StatementSync>> = {}
    for (const name of Object.keys(statements) as (keyof typeof statements)[]) {
      prepared[name] = database.prepare(statements[name])
    }
    this.#statements = prepared as Record<keyof typeof statements, StatementSync>
    this.#totals = this.#readTotals()
    this.#run = this.#readRun()
  }

  get totals(): Readonly<Totals> {
    return this.#totals
  }

  recover(): Recovered {
    const snapshot = this.#statements.readSnapshot.get()
    return {
      snapshot: snapshot === undefined ? null : String(snapshot["state"]),
      events: this.#statements.readEvents.all().map((row) => String(row["event"])),
    }
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
      this.#statements.writeSnapshot.run(snapshot)
      this.#totals.eventBytes = 0
      this.#totals.snapshotBytes = snapshot.length
    })
  }

  #apply(commit: Commit): void {
    const { insertEvent, insertGroup, insertPayload, releaseGroup, releaseAll, beginRun } = this.#statements
    const totals = this.#totals
    if (commit.beginsRun === true) {
      releaseAll.run()
      totals.releasedBytes = totals.payloadBytes
      this.#run += 1
      beginRun.run(this.#run, new Date().toISOString())
    }
    for (const event of commit.events) {
      insertEvent.run(event)
      totals.eventBytes += event.length
    }
    for (const { groupId, segment, crc32, jsonBytes } of commit.payloads) {
      if (insertGroup.run(groupId, this.#run, segment.length, zlibCrc32(segment), jsonBytes, crc32).changes === 0) {
        throw duplicateGroup(groupId)
      }
      insertPayload.run(groupId, segment)
      totals.payloadBytes += segment.length
    }
    for (const groupId of commit.released ?? []) {
      const row = releaseGroup.get(groupId)
      if (row !== undefined) totals.releasedBytes += Number(row["segment_bytes"])
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
    this.#database.exec("BEGIN IMMEDIATE")
    try {
      work()
      const { payloadBytes, releasedBytes, eventBytes, snapshotBytes } = this.#totals
      this.#statements.writeTotals.run(payloadBytes, releasedBytes, eventBytes, snapshotBytes)
      this.#database.exec("COMMIT")
    } catch (error) {
      // SQLite has rolled back by itself after some errors, such as a full disk.
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
      this.#totals = this.#readTotals()
      this.#run = this.#readRun()
      throw error
    }
  }

  #readTotals(): Totals {
    const row = this.#statements.readTotals.get() ?? {}
    return {
      payloadBytes: Number(row["payload_bytes"]),
      releasedBytes: Number(row["released_bytes"]),
      eventBytes: Number(row["event_bytes"]),
      snapshotBytes: Number(row["snapshot_bytes"]),
    }
  }

  #readRun(): number {
    return Number(this.#statements.readRun.get()?.["run"])
  }
}

const statements = {
  readSnapshot: "SELECT state FROM snapshot",
  readEvents: "SELECT event FROM events ORDER BY position",
  readTotals: "SELECT * FROM totals",
  readRun: "SELECT max(run) AS run FROM runs",
  writeTotals: "UPDATE totals SET payload_bytes = ?, released_bytes = ?, event_bytes = ?, snapshot_bytes = ?",
  writeSnapshot: "INSERT OR REPLACE INTO snapshot VALUES (1, ?)",
  deleteEvents: "DELETE FROM events",
  beginRun: "INSERT INTO runs VALUES (?, ?)",
  insertEvent: "INSERT INTO events (event) VALUES (?)",
  insertGroup: `INSERT OR IGNORE INTO groups (id, run, segment_bytes, segment_crc32, json_bytes, json_crc32)
                VALUES (?, ?, ?, ?, ?, ?)`,
  insertPayload: "INSERT INTO payloads VALUES (?, ?)",
  releaseGroup: "UPDATE groups SET released = 1 WHERE id = ? AND released = 0 RETURNING segment_bytes",
  releaseAll: "UPDATE groups SET released = 1 WHERE released = 0",
  oldestReleased: "SELECT id, segment_bytes FROM groups WHERE released = 1 ORDER BY id LIMIT ?",
  deleteGroup: "DELETE FROM groups WHERE id = ?",
  deletePayload: "DELETE FROM payloads WHERE id = ?",
}
