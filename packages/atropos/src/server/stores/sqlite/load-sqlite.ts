import type * as sqlite from "node:sqlite"

/** `node:sqlite`, without the line that older Node versions write about it to stderr at the first import. */
export async function loadSqlite(): Promise<typeof sqlite> {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!String(warning).includes("SQLite is an experimental feature")) emitWarning(warning, ...rest)
  }
  try {
    return await import("node:sqlite")
  } finally {
    process.emitWarning = emitWarning
  }
}
