// npm run conformance -- <suite> [file or folder]
import { existsSync, readdirSync } from "node:fs"
import { resolve } from "node:path"

import { runSuite } from "./run-suite.ts"
import type { Suite } from "./suite.ts"

const suiteNames = readdirSync(new URL("../suites/", import.meta.url))
  .filter((file) => file.endsWith(".ts") && !file.endsWith("test.ts"))
  .map((file) => file.slice(0, -3))

const [suiteName, path] = process.argv.slice(2)
if (suiteName === undefined || !suiteNames.includes(suiteName)) {
  console.error(`usage: npm run conformance -- <suite> [file or folder]\nsuites: ${suiteNames.join(", ")}`)
  process.exit(2)
}
const { suite } = (await import(`../suites/${suiteName}.ts`)) as { suite: Suite }
// npm changes to the repository's root; paths are meant from where the user stands.
const root = path === undefined ? undefined : resolve(process.env["INIT_CWD"] ?? ".", path)
if (root !== undefined && !existsSync(root)) {
  console.error(`conformance: there is no ${root}`)
  process.exit(2)
}

const shownDifferences = 10
let shown = 0
const { counts, ok } = await runSuite(suite, root, {
  skippedFile: (file) => console.log(`skipped file (not of this suite): ${file}`),
  verdict(id, result) {
    if (result.verdict === "failed" && ++shown <= shownDifferences) console.log(`failed ${id}: ${result.difference}`)
    if (result.verdict === "skipped") console.log(`skipped ${id}: ${result.reason}`)
  },
})
const skipped = counts.skipped > 0 ? `, ${counts.skipped} skipped` : ""
console.log(`${counts.passed} passed, ${counts.failed} failed${skipped}`)
process.exit(ok ? 0 : 1)
