import { AtroposError, isAtroposError } from "../../../runtime/errors.ts"

/** SQLite's primary result codes that mean something of their own here. */
const sqlite = { ioError: 10, corrupt: 11, full: 13, cannotOpen: 14, readOnly: 8, notDatabase: 26 } as const

/** SQLITE_IOERR_SHMSIZE. */
const logIndexFull = 4874

/** The primary result code of an error thrown by `node:sqlite`, if it is one. */
export function sqliteErrorCode(error: unknown): number | null {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number" ? error.errcode & 0xff : null
}

/** What an error of the file means for whoever called: full disk, damaged file, refused by the system. */
export function describeSqliteError(error: unknown, file: string): AtroposError {
  if (isAtroposError(error)) return error
  const code = sqliteErrorCode(error)
  const reason = error instanceof Error ? error.message : String(error)
  if (code === sqlite.full || isOutOfSpace(error)) {
    return new AtroposError(
      "store-full",
      `There is no room left to write to ${file}. Nothing of this commit was kept, and nothing acknowledged is lost: free some space and send it again.`,
      { cause: error, facts: { file }, retryable: true },
    )
  }
  if (code === sqlite.corrupt || code === sqlite.notDatabase) return damagedRun(file, reason, error)
  return new AtroposError("store-failed", `Reading or writing ${file} failed: ${reason}.`, {
    cause: error,
    facts: { file },
    retryable: code === sqlite.ioError,
  })
}

export function damagedRun(file: string, finding: string, cause?: unknown): AtroposError {
  return new AtroposError(
    "store-damaged",
    `${file} is damaged: ${finding}. It was neither repaired nor replaced. Copy it (with its -wal file) first; then save what can be read with ` +
      `\`sqlite3 ${file} ".recover" | sqlite3 recovered.sqlite\`, or start a new run in another --data-dir.`,
    { facts: { file }, ...(cause === undefined ? {} : { cause }) },
  )
}

export function foreignFile(file: string, finding: string): AtroposError {
  return new AtroposError(
    "store-foreign",
    `${file} is not a run of Atropos: ${finding}. It was left as it is; choose another --data-dir.`,
    { facts: { file } },
  )
}

export function newerRun(file: string, version: number, known: number): AtroposError {
  return new AtroposError(
    "store-newer",
    `${file} has layout version ${version}, and this Atropos knows versions up to ${known}. It was left as it is; open it with the newer Atropos that wrote it.`,
    { facts: { file, version, known } },
  )
}

export function lockedRun(directory: string): AtroposError {
  return new AtroposError(
    "store-locked",
    `Another server has the run in ${directory} open. Stop that one first, or choose another --data-dir.`,
    { facts: { directory } },
  )
}

/** Of the files beside the database: SQLite's index of its log, and those we write ourselves. */
function isOutOfSpace(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if ("errcode" in error && error.errcode === logIndexFull) return true
  return "code" in error && (error.code === "ENOSPC" || error.code === "EDQUOT")
}
