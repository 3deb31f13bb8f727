import { existsSync, mkdirSync } from "node:fs"
import { type FileHandle, open, rm } from "node:fs/promises"
import { dirname, extname } from "node:path"

import type { ScoredGroup as WireGroup } from "../../protocol/messages.ts"

/** Keys that a saved group has also when nothing was set. */
const alwaysThere = {
  ref_logprobs: null,
  overrides: null,
  group_overrides: null,
  distill_token_ids: null,
  distill_logprobs: null,
}

/** `path`, or with a suffix _1, _2 … the first that neither it nor a file beside it with another ending has. */
export function freePath(path: string, endings: readonly string[] = [extname(path)]): string {
  const ending = extname(path)
  const stem = path.slice(0, path.length - ending.length)
  for (let number = 0; ; number++) {
    const candidate = number === 0 ? stem : `${stem}_${number}`
    if (!endings.some((other) => existsSync(candidate + other))) return candidate + ending
  }
}

/** A JSONL file of groups: one a line, as on the wire but without env_id. Lines are written whole and in order. */
export class GroupsFile {
  readonly path: string
  readonly #file: FileHandle
  #empty = true
  #writing: Promise<unknown> = Promise.resolve()

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  /** Opens a new file; one that exists is kept, and the new one's name gets a suffix. */
  static async create(path: string, endings?: readonly string[]): Promise<GroupsFile> {
    mkdirSync(dirname(path), { recursive: true })
    const free = freePath(path, endings)
    // "wx": should another process take the name meanwhile, this fails and not its file.
    return new GroupsFile(free, await open(free, "wx"))
  }

  /** Whether no group was given to it yet. */
  get empty(): boolean {
    return this.#empty
  }

  write(group: WireGroup): Promise<void> {
    this.#empty = false
    const { env_id: _, ...kept } = group
    const line = `${JSON.stringify({ ...alwaysThere, ...kept })}\n`
    const written = this.#writing.then(() => this.#file.appendFile(line))
    this.#writing = written.catch(() => {})
    return written
  }

  /** Removes the file if there is no group in it. */
  async close(): Promise<void> {
    await this.#writing
    await this.#file.close()
    if (this.#empty) await rm(this.path, { force: true })
  }
}
