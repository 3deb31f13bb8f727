import type * as sqlite from "node:sqlite"

/** `node:sqlite`, without the line that older Node versions write about it to stderr when it is first loaded. */
export function loadSqlite(): typeof sqlite {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: never[]) => {
    if (!String(warning).includes("SQLite is an experimental feature")) emitWarning(warning, ...rest)
  }
  try {
    return process.getBuiltinModule("node:sqlite")
  } finally {
    process.emitWarning = emitWarning
  }
}
