import { closeSync, existsSync, fsyncSync, openSync, readSync, renameSync, rmSync, statSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { loadSqlite } from "../../../runtime/sqlite.ts"
import { applicationId, migrate, migrations, readPragma, runFileName } from "./schema.ts"
import { RunDatabase } from "./run-database.ts"
import { damagedRun, describeSqliteError, foreignFile, newerRun, sqliteErrorCode } from "./sqlite-errors.ts"
import { readWriteAheadLog } from "./write-ahead-log.ts"

/** Pages this large write and read payloads at two to three times the speed of SQLite's usual 4096. */
const pageBytes = 16_384

/** The log is worked into the file from here on (16 MiB): what recovery walks through after a crash. */
const logPages = 1024

/** SQLite's result code for, among others, a table that is not there. */
const unknownTable = 1

/**
 * Opens a folder's run for writing, or lays a new one. The caller holds the run's lock.
 *
 * Whatever is wrong with a file that is there is found before anything is written to it. Nothing else in this
 * process may open `run.sqlite` by other means than SQLite: closing any descriptor of it would drop SQLite's locks.
 */
export function openRun(directory: string, maxFileBytes: number | null): DatabaseSync {
  const { DatabaseSync } = loadSqlite()
  const file = join(directory, runFileName)
  const isThere = existsSync(file)
  if (isThere) inspectBytes(file)
  else {
    if (existsSync(`${file}-wal`)) throw damagedRun(file, "it is missing, and its -wal file is there")
    layRun(directory, file, (path) => new DatabaseSync(path))
  }
  // A connection that can not write leaves the log alone when it closes.
  const inspection = isThere ? new DatabaseSync(file, { readOnly: true }) : null
  try {
    if (inspection !== null) inspectTables(file, inspection)
    return openToWrite(new DatabaseSync(file), maxFileBytes)
  } finally {
    // Not before: a log that no connection has open is walked through again by the next one, and it may be long.
    inspection?.close()
  }
}

function openToWrite(database: DatabaseSync, maxFileBytes: number | null): DatabaseSync {
  try {
    database.exec("PRAGMA synchronous = FULL; PRAGMA cache_size = -8192")
    database.exec(`PRAGMA wal_autocheckpoint = ${logPages}`)
    if (maxFileBytes !== null) database.exec(`PRAGMA max_page_count = ${Math.ceil(maxFileBytes / pageBytes)}`)
    migrate(database)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

/** Under another name until it is whole, so that a crash leaves no empty `run.sqlite` behind. */
function layRun(directory: string, file: string, open: (path: string) => DatabaseSync): void {
  const draft = `${file}.new`
  for (const suffix of ["", "-wal", "-shm", "-journal"]) rmSync(draft + suffix, { force: true })
  const database = open(draft)
  try {
    database.exec(
      `PRAGMA page_size = ${pageBytes}; PRAGMA application_id = ${applicationId}; PRAGMA journal_mode = WAL`,
    )
    database.exec("PRAGMA synchronous = FULL")
    migrate(database)
    database.prepare("INSERT INTO runs VALUES (1, ?)").run(new Date().toISOString())
  } finally {
    database.close()
  }
  renameSync(draft, file)
  const folder = openSync(directory, "r")
  fsyncSync(folder)
  closeSync(folder)
}

/** Finds what is wrong with the file without SQLite, which would overlook some of it. */
function inspectBytes(file: string): void {
  const bytes = statSync(file).size
  if (bytes === 0) throw damagedRun(file, "it is empty")
  const header = Buffer.alloc(100)
  const descriptor = openSync(file, "r")
  try {
    readSync(descriptor, header, 0, 100, 0)
  } finally {
    closeSync(descriptor)
  }
  if (header.toString("latin1", 0, 16) !== "SQLite format 3\0") {
    throw foreignFile(file, "it does not begin like an SQLite file")
  }
  const application = header.readUInt32BE(68)
  if (application !== applicationId) {
    throw foreignFile(file, `it is an SQLite file of another program (application_id ${application})`)
  }
  const logFile = `${file}-wal`
  const log = existsSync(logFile) ? readWriteAheadLog(logFile) : null
  if (log !== null && log.damage !== null) throw damagedRun(file, log.damage)
  // SQLite counts 64 KiB pages, which do not fit its 16 bits, as 1.
  const pageSize = header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16)
  const pages = log?.databasePages ?? header.readUInt32BE(28)
  for (let page = Math.floor(bytes / pageSize) + 1; page <= pages; page++) {
    if (log?.pages.has(page) !== true) {
      throw damagedRun(file, `it was cut short: it has ${bytes} of ${pages * pageSize} bytes`)
    }
  }
}

function inspectTables(file: string, database: DatabaseSync): void {
  try {
    const version = readPragma(database, "user_version")
    if (version > migrations.length) throw newerRun(file, version, migrations.length)
    if (version === migrations.length) RunDatabase.prepare(database)
  } catch (error) {
    if (sqliteErrorCode(error) === unknownTable) throw damagedRun(file, String(error), error)
    throw describeSqliteError(error, file)
  }
}
