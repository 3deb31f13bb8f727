import { createWriteStream, mkdirSync } from "node:fs"
import { dirname } from "node:path"

import type { Logger } from "../runtime/logger.ts"
import type { Tracker } from "./tracker.ts"

/** Appends every entry to a file, one JSON object a line; numbers that JSON lacks are the texts NaN, Infinity, -Infinity. */
export function createJsonLinesTracker(options: { path: string; logger: Logger }): Tracker {
  const { path, logger } = options
  mkdirSync(dirname(path), { recursive: true })
  const file = createWriteStream(path, { flags: "a" })
  let failed = false
  file.on("error", (error) => {
    if (!failed) logger.error(`cannot write metrics to ${path}: ${error.message}`)
    failed = true
  })
  let closing: Promise<void> | undefined
  return {
    log: (entry) => {
      if (!failed && closing === undefined) file.write(`${JSON.stringify(entry, nonFiniteAsText)}\n`)
    },
    close: () => {
      closing ??= new Promise((resolve) => {
        if (failed) resolve()
        else file.end(() => resolve())
      })
      return closing
    },
  }
}

function nonFiniteAsText(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isFinite(value) ? String(value) : value
}
