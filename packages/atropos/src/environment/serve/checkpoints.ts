// Where an environment's state is kept: <checkpoint_dir>/env_checkpoints/<registered name>/step-<n>.json
import { existsSync, readdirSync } from "node:fs"
import { mkdir, readFile, rename, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"

/** The key under which items that were taken but not done stand in the state. */
const pendingKey = "atropos_pending_items"

export interface Checkpoint {
  file: string
  state: unknown
  pending: unknown[]
}

export function checkpointFile(directory: string, name: string, step: number): string {
  return join(directory, "env_checkpoints", name, `step-${step}.json`)
}

/** Writes a checkpoint whole or not at all. A state that is no object is kept under `state`. */
export async function writeCheckpoint(file: string, state: unknown, pending: readonly unknown[]): Promise<void> {
  const base = isObject(state) ? state : { state }
  const text = JSON.stringify(pending.length === 0 ? base : { ...base, [pendingKey]: pending })
  await mkdir(dirname(file), { recursive: true })
  await writeFile(`${file}.part`, text)
  await rename(`${file}.part`, file)
}

/**
 * The newest checkpoint up to `step` of the registered name. A restarted environment has a new number at the end of
 * its name, so without one of its own the newest of its predecessors counts.
 */
export async function readCheckpoint(directory: string, name: string, step: number): Promise<Checkpoint | undefined> {
  const root = join(directory, "env_checkpoints")
  if (!existsSync(root)) return undefined
  const family = name.replace(/_\d+$/, "")
  const numberOf = (folder: string): number => Number(folder.slice(family.length + 1))
  const folders = readdirSync(root)
    .filter((folder) => folder.startsWith(`${family}_`) && /^\d+$/.test(folder.slice(family.length + 1)))
    .filter((folder) => numberOf(folder) <= numberOf(name))
    .toSorted((a, b) => numberOf(b) - numberOf(a))
  let best: { folder: string; step: number } | undefined
  for (const folder of folders) {
    const newest = newestStep(join(root, folder), step)
    if (newest === undefined) continue
    if (folder === name) {
      best = { folder, step: newest }
      break
    }
    if (best === undefined || newest > best.step) best = { folder, step: newest }
  }
  if (best === undefined) return undefined
  const file = checkpointFile(directory, best.folder, best.step)
  const stored: unknown = JSON.parse(await readFile(file, "utf8"))
  if (!isObject(stored)) return { file, state: stored, pending: [] }
  const { [pendingKey]: pending, ...rest } = stored
  const keys = Object.keys(rest)
  const state = keys.length === 1 && keys[0] === "state" ? rest["state"] : rest
  return { file, state, pending: Array.isArray(pending) ? pending : [] }
}

function newestStep(folder: string, limit: number): number | undefined {
  const steps = readdirSync(folder)
    .map((file) => /^step-(\d+)\.json$/.exec(file)?.[1])
    .filter((step) => step !== undefined)
    .map(Number)
    .filter((step) => step <= limit)
  return steps.length === 0 ? undefined : Math.max(...steps)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
