import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"

import { AtroposError } from "../runtime/errors.ts"

export interface RunFolder {
  readonly path: string
  /** Whether it is a new one: an old one is only taken when it is asked for. */
  readonly isNew: boolean
}

/** The folder of a run: `dataDir` if given, else a new one under `runs`, named for the time. */
export async function openRunFolder(options: {
  dataDir: string | undefined
  workingDirectory: string
  now: Date
}): Promise<RunFolder> {
  const { dataDir, workingDirectory, now } = options
  if (dataDir !== undefined) {
    const path = resolve(workingDirectory, dataDir)
    const isNew = !existsSync(join(path, "run.sqlite"))
    await makeFolder(path)
    return { path, isNew }
  }
  const runs = join(workingDirectory, "runs")
  await makeFolder(runs)
  const name = now.toISOString().slice(0, 19).replaceAll(":", "-").replace("T", "_")
  for (let attempt = 1; ; attempt++) {
    const path = join(runs, attempt === 1 ? name : `${name}-${attempt}`)
    try {
      await mkdir(path)
      return { path, isNew: true }
    } catch (error) {
      // Another server began in the same second.
      if (codeOf(error) !== "EEXIST") throw cannotMake(path, error)
    }
  }
}

/** Makes a folder and those above it, one by one: `recursive` never ends where nothing can be made, as below /proc. */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path)
  } catch (error) {
    const parent = dirname(path)
    if (codeOf(error) === "EEXIST") return
    if (codeOf(error) !== "ENOENT" || existsSync(parent)) throw cannotMake(path, error)
    await makeFolder(parent)
    await makeFolder(path)
  }
}

function cannotMake(path: string, cause: unknown): AtroposError {
  const message = `The folder ${path} can not be made (${codeOf(cause)}); choose one that can be written to with --data-dir, or keep the run in memory with --store memory`
  return new AtroposError("bad-option", message, { cause })
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "unknown"
}
