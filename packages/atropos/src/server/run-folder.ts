import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join, resolve } from "node:path"

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
    await mkdir(path, { recursive: true })
    return { path, isNew }
  }
  const runs = join(workingDirectory, "runs")
  await mkdir(runs, { recursive: true })
  const name = now.toISOString().slice(0, 19).replaceAll(":", "-").replace("T", "_")
  for (let attempt = 1; ; attempt++) {
    const path = join(runs, attempt === 1 ? name : `${name}-${attempt}`)
    try {
      await mkdir(path)
      return { path, isNew: true }
    } catch (error) {
      // Another server began in the same second.
      if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error
    }
  }
}
