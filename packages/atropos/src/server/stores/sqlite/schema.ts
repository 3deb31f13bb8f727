import type { DatabaseSync } from "node:sqlite"

export const runFileName = "run.sqlite"

/** "Atro" in the file's header: what `file` and we know a run by. */
export const applicationId = 0x4174_726f

/**
 * The layout of a run's file, one step a version: version n is what the first n steps make, and the file says its
 * version as `PRAGMA user_version`. A step that was once released never changes; a change is a further step.
 *
 * `groups` and `payloads` are apart so that a walk over groups does not read payload pages. The checksums are there because
 * SQLite has none of its own for what has left its log.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE runs (run INTEGER PRIMARY KEY, began_at TEXT NOT NULL);
  CREATE TABLE snapshot (only INTEGER PRIMARY KEY CHECK (only = 1), state TEXT NOT NULL, crc32 INTEGER NOT NULL);
  CREATE TABLE events (position INTEGER PRIMARY KEY, event TEXT NOT NULL, crc32 INTEGER NOT NULL);
  CREATE TABLE groups (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    segment_bytes INTEGER NOT NULL,
    segment_crc32 INTEGER NOT NULL,
    json_bytes INTEGER NOT NULL,
    json_crc32 INTEGER NOT NULL,
    released INTEGER NOT NULL DEFAULT 0
  );
  CREATE INDEX released_groups ON groups (id) WHERE released = 1;
  CREATE TABLE payloads (id INTEGER PRIMARY KEY, segment BLOB NOT NULL);
  CREATE TABLE totals (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    payload_bytes INTEGER NOT NULL,
    released_bytes INTEGER NOT NULL,
    events INTEGER NOT NULL,
    event_bytes INTEGER NOT NULL,
    snapshot_bytes INTEGER NOT NULL
  );
  INSERT INTO totals VALUES (1, 0, 0, 0, 0, 0);
  `,
]

/** Takes the file to the newest version in one transaction; a crash in between leaves it as it was. */
export function migrate(database: DatabaseSync): void {
  const from = readPragma(database, "user_version")
  if (from === migrations.length) return
  database.exec("BEGIN IMMEDIATE")
  try {
    for (const step of migrations.slice(from)) database.exec(step)
    database.exec(`PRAGMA user_version = ${migrations.length}`)
    database.exec("COMMIT")
  } catch (error) {
    database.exec("ROLLBACK")
    throw error
  }
}

export function readPragma(database: DatabaseSync, name: string): number {
  const row = database.prepare(`PRAGMA ${name}`).get()
  const value = row === undefined ? undefined : Object.values(row)[0]
  if (typeof value !== "number") throw new TypeError(`PRAGMA ${name} gave no number`)
  return value
}
