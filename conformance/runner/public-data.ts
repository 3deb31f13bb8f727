import { existsSync } from "node:fs"
import { join } from "node:path"

/**
 * A file of the public data sets that stay outside the project, or undefined (said on stderr) when `ATROPOS_DATA` does
 * not name a folder that has it.
 */
export function publicData(file: string): string | undefined {
  const folder = process.env["ATROPOS_DATA"]
  const path = folder === undefined ? undefined : join(folder, file)
  if (path !== undefined && existsSync(path)) return path
  const reason = folder === undefined ? "ATROPOS_DATA is not set" : `ATROPOS_DATA (${folder}) has no such file`
  process.stderr.write(`SKIPPED: tests on the public data ${file}: ${reason}\n`)
  return undefined
}
