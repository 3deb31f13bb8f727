import { appendFile, mkdir, readdir, stat } from "node:fs/promises"
import { join } from "node:path"

import type { LogEntry } from "../protocol/messages.ts"

export type Logged = "kept" | "too-many-sources" | "full"

/** Metrics as environments and trainers log them: one file of JSON lines a source, beside the run. */
export interface LogBook {
  add(entries: readonly LogEntry[]): Promise<Logged>
  close(): Promise<void>
}

export interface LogBookOptions {
  maxSources: number
  maxBytes: number
}

/** A run without a folder keeps no metrics: they are counted as taken. */
export const noLogBook: LogBook = { add: async () => "kept", close: async () => {} }

/** Opens the folder `journal` of a run; what is in it counts towards the bounds. */
export async function openLogBook(folder: string, options: LogBookOptions): Promise<LogBook> {
  await mkdir(folder, { recursive: true })
  const files = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"))
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size))
  const sources = new Set(files)
  let bytes = sizes.reduce((sum, size) => sum + size, 0)
  let turn: Promise<unknown> = Promise.resolve()

  return {
    add(entries) {
      const lines = new Map<string, string>()
      for (const entry of entries) {
        const name = fileNameOf(entry.source)
        lines.set(name, `${lines.get(name) ?? ""}${JSON.stringify(entry)}\n`)
      }
      const size = [...lines.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
      const unknown = [...lines.keys()].filter((name) => !sources.has(name))
      if (sources.size + unknown.length > options.maxSources) return Promise.resolve("too-many-sources")
      if (bytes + size > options.maxBytes) return Promise.resolve("full")
      bytes += size
      for (const name of unknown) sources.add(name)
      // One after another, so that lines of two calls never mix.
      const written = turn.then(() =>
        Promise.all([...lines].map(([name, text]) => appendFile(join(folder, name), text))),
      )
      turn = written.catch(() => {})
      return written.then(() => "kept" as const)
    },
    async close() {
      await turn
    },
  }
}

/** A source's name as a file's: what has no place in one is written as its code, so that no two names meet. */
function fileNameOf(source: string): string {
  const safe = source.replace(/[^\w.-]|^\./gu, (character) => `%${character.codePointAt(0)?.toString(16) ?? ""}%`)
  return `${safe}.jsonl`
}
