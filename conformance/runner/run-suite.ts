import { readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

import type { Report, Suite } from "./suite.ts"

export interface SuiteResult {
  counts: { passed: number; failed: number; skipped: number }
  /** `id: difference` of each failed case. */
  differences: string[]
  /** Enough of the judged cases passed, and there were some. */
  ok: boolean
}

/** Runs a suite on a file or folder, by default on our own vectors; `listen` hears each verdict as it falls. */
export async function runSuite(
  suite: Suite,
  path: string = fileURLToPath(new URL(suite.vectors, new URL("../vectors/", import.meta.url))),
  listen: { verdict?: Report; skippedFile?: (file: string) => void } = {},
): Promise<SuiteResult> {
  const files: string[] = []
  for (const file of listFiles(path)) {
    if (suite.accepts(file)) files.push(file)
    else listen.skippedFile?.(file)
  }
  const counts = { passed: 0, failed: 0, skipped: 0 }
  const differences: string[] = []
  await suite.run(
    files,
    (id, result) => {
      counts[result.verdict] += 1
      if (result.verdict === "failed") differences.push(`${id}: ${result.difference}`)
      listen.verdict?.(id, result)
    },
    { root: path },
  )
  const judged = counts.passed + counts.failed
  // A suite that ran no case at all has shown nothing.
  const ok = counts.passed >= judged * (suite.threshold ?? 1) && judged + counts.skipped > 0
  return { counts, differences, ok }
}

function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .toSorted()
    .flatMap((entry) => listFiles(join(path, entry)))
}
