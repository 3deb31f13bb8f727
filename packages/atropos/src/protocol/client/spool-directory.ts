import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { AtroposError } from "../../runtime/errors.ts"
import { lockForProcess, type ProcessLock } from "../../runtime/process-lock.ts"

/** What a spooled push is called on disk, apart from its bytes. */
export interface SpooledName {
  /** Pushes are sent in this order. */
  sequence: number
  kind: "one" | "list"
  groups: number
  gzip: boolean
  idempotencyKey: string
}

const pattern = /^(\d{12})-(one|list)-(\d+)-([0-9a-f-]{36})\.json(\.gz)?$/

/**
 * Pushes on disk, one file each, so that they outlive their process: `zcat` shows one. What a server refused for good
 * is kept in `refused/` with the reason beside it. One process at a time.
 */
export class SpoolDirectory {
  readonly #path: string
  readonly #lock: ProcessLock

  constructor(path: string) {
    mkdirSync(join(path, "refused"), { recursive: true })
    const lock = lockForProcess(join(path, "spool.lock"))
    if (lock === null) {
      throw new AtroposError(
        "spool-locked",
        `Another client uses the spool in ${path}: give each its own spoolDirectory, or end the other one.`,
        { facts: { path } },
      )
    }
    this.#path = path
    this.#lock = lock
  }

  /** What an earlier process left, in order. */
  list(): { name: SpooledName; bytes: number }[] {
    const found: { name: SpooledName; bytes: number }[] = []
    for (const file of readdirSync(this.#path)) {
      const name = parseName(file)
      if (name !== null) found.push({ name, bytes: statSync(join(this.#path, file)).size })
      // Half written when its process died: its push was never taken.
      else if (file.endsWith(".part")) rmSync(join(this.#path, file))
    }
    return found.sort((left, right) => left.name.sequence - right.name.sequence)
  }

  async write(name: SpooledName, body: Uint8Array): Promise<void> {
    const file = this.#file(name)
    await writeFile(`${file}.part`, body)
    await rename(`${file}.part`, file)
  }

  read(name: SpooledName): Promise<Uint8Array> {
    return readFile(this.#file(name))
  }

  async remove(name: SpooledName): Promise<void> {
    await rm(this.#file(name), { force: true })
  }

  /** Sets a refused push aside; the answer is where it lies now. */
  async refuse(name: SpooledName, reason: string): Promise<string> {
    const file = join(this.#path, "refused", formatName(name))
    await writeFile(`${file}.txt`, `${reason}\n`)
    await rename(this.#file(name), file)
    return file
  }

  close(): void {
    this.#lock.release()
  }

  #file(name: SpooledName): string {
    return join(this.#path, formatName(name))
  }
}

function formatName({ sequence, kind, groups, gzip, idempotencyKey }: SpooledName): string {
  return `${String(sequence).padStart(12, "0")}-${kind}-${groups}-${idempotencyKey}.json${gzip ? ".gz" : ""}`
}

function parseName(file: string): SpooledName | null {
  const [, sequence, kind, groups, idempotencyKey, gzip] = pattern.exec(file) ?? []
  if ((kind !== "one" && kind !== "list") || idempotencyKey === undefined) return null
  return { sequence: Number(sequence), kind, groups: Number(groups), gzip: gzip !== undefined, idempotencyKey }
}
