import { loadSqlite } from "./sqlite.ts"

export interface ProcessLock {
  release(): void
}

/** SQLite's result code for a file that someone else has locked. */
const busy = 5

/**
 * Takes the file as a lock, or says null when a process (this one too) holds it. It is a transaction open on the file,
 * which the system ends with the process however that dies: nothing stale is ever left to clean up.
 */
export function lockForProcess(file: string): ProcessLock | null {
  const { DatabaseSync } = loadSqlite()
  const lock = new DatabaseSync(file, { timeout: 0 })
  try {
    // Nothing is ever written, so no journal file is wanted.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE")
  } catch (error) {
    lock.close()
    if (error instanceof Error && "errcode" in error && error.errcode === busy) return null
    throw error
  }
  return { release: () => lock.isOpen && lock.close() }
}
