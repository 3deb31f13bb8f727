import { mkdirSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { join } from "node:path"
import { lockedRun, sqliteErrorCode } from "./sqlite-errors.ts"
import { loadSqlite } from "./load-sqlite.ts"

const busy = 5

/**
 * Holds the run for this process: a transaction open on a side file, which the system ends with the process
 * however that dies. `run.sqlite` itself stays readable by any SQLite tool.
 */
export async function lockRun(directory: string): Promise<{ release(): void }> {
  const { DatabaseSync } = await loadSqlite()
  mkdirSync(directory, { recursive: true })
  const lock: DatabaseSync = new DatabaseSync(join(directory, "run.lock"), { timeout: 0 })
  try {
    // Nothing is ever written, so no journal is wanted.
    lock.exec("PRAGMA journal_mode = OFF; BEGIN EXCLUSIVE")
  } catch (error) {
    lock.close()
    if (sqliteErrorCode(error) === busy) throw lockedRun(directory, error)
    throw error
  }
  return { release: () => lock.close() }
}
