import { readFileSync } from "node:fs"
import { basename } from "node:path"

import type { Suite } from "../runner/suite.ts"
import { checkGsm8k } from "./scores/gsm8k.ts"

/** By the environment a row names: says what is wrong with our answer, or undefined. */
const checks: Readonly<Record<string, (row: unknown) => Promise<string | undefined>>> = {
  gsm8k: checkGsm8k,
}

export const suite: Suite = {
  name: "scores",
  vectors: "scores",
  // The rewards are a suite of their own.
  accepts: (file) => file.endsWith(".jsonl") && !basename(file).startsWith("rewards"),
  async run(files, report) {
    for (const file of files) {
      for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
        if (line.trim() === "") continue
        const row = JSON.parse(line) as { id?: string; environment?: string }
        const id = row.id ?? `${basename(file)}:${index + 1}`
        const check = row.environment === undefined ? undefined : checks[row.environment]
        if (check === undefined) {
          report(id, { verdict: "skipped", reason: `no environment ${row.environment ?? "named"}` })
          continue
        }
        const difference = await check(row)
        report(id, difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference })
      }
    }
  },
}
