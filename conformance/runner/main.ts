// npm run conformance -- <suite> [file or folder]
import { existsSync, readdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"

import type { Suite } from "./suite.ts"

const vectors = new URL("../vectors/", import.meta.url).pathname
const suiteNames = readdirSync(new URL("../suites/", import.meta.url))
  .filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"))
  .map((file) => file.slice(0, -3))

const [suiteName, path] = process.argv.slice(2)
if (suiteName === undefined || !suiteNames.includes(suiteName)) {
  console.error(`usage: npm run conformance -- <suite> [file or folder]\nsuites: ${suiteNames.join(", ")}`)
  process.exit(2)
}
const { suite } = (await import(`../suites/${suiteName}.ts`)) as { suite: Suite }
const root = path === undefined ? join(vectors, suite.vectors) : resolve(process.env["INIT_CWD"] ?? ".", path)
if (!existsSync(root)) {
  console.error(`conformance: there is no ${root}`)
  process.exit(2)
}

const files: string[] = []
for (const file of listFiles(root)) {
  if (suite.accepts(file)) files.push(file)
  else console.log(`skipped file (not of this suite): ${file}`)
}

const shownDifferences = 10
const counts = { passed: 0, failed: 0, skipped: 0 }
await suite.run(
  files,
  (id, result) => {
    counts[result.verdict] += 1
    if (result.verdict === "failed" && counts.failed <= shownDifferences)
      console.log(`failed ${id}: ${result.difference}`)
    if (result.verdict === "skipped") console.log(`skipped ${id}: ${result.reason}`)
  },
  { root },
)
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
const judged = counts.passed + counts.failed
const enough = counts.passed >= judged * (suite.threshold ?? 1)
// A suite that ran no case at all has shown nothing.
process.exit(enough && judged + counts.skipped > 0 ? 0 : 1)

function listFiles(path: string): string[] {
  if (!statSync(path).isDirectory()) return [path]
  return readdirSync(path)
    .toSorted()
    .flatMap((entry) => listFiles(join(path, entry)))
}
