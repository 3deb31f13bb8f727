// Our template engine against Python's Jinja: fixed constructs, then random templates. Needs python3 with jinja2.
import { spawn, spawnSync } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"

import { parseLosslessJson } from "../../packages/atropos/src/chat/lossless-json.ts"
import { compileTemplate } from "../../packages/atropos/src/chat/template/template.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import { constructs } from "./templates/constructs.ts"
import { createRandom, RandomTemplate } from "./templates/random-template.ts"
import { context } from "./templates/vocabulary.ts"

const python = process.env["ATROPOS_PYTHON"] ?? "python3"
const count = Number(process.argv[2] ?? 4000)
const seed = Number(process.argv[3] ?? 1)

if (spawnSync(python, ["-c", "import jinja2"]).status !== 0) {
  console.log(`skipped: ${python} has no jinja2 (python3 -m pip install jinja2; ATROPOS_PYTHON names another python)`)
  process.exit(0)
}

const parsed = parseLosslessJson(context)
const variables = parsed instanceof Map ? Object.fromEntries(parsed) : {}
const now = (): Date => new Date(2026, 1, 8, 15, 4, 5)

function render(template: string): { text: string } | { error: string } {
  try {
    return { text: compileTemplate(template).render(variables, { now }) }
  } catch (error) {
    if (isAtroposError(error)) return { error: error.message }
    throw new Error(`not an error of ours for ${JSON.stringify(template)}`, { cause: error })
  }
}

const short = (value: unknown): string => JSON.stringify(value).slice(0, 700)

// Addresses are no part of what a template means.
const address =
  /\b\wt 0x[0-9a-f]+|<bound method |(?:<|&lt;)(?:generator|built-in|function|class|Macro|Cycler|LoopContext|bound|method|async|list_reverseiterator|\w*iterator)[^<>]*(?:>|&gt;)/i

// Python folds a slice of a constant when it compiles, and then a wrong one is undefined and not an error.
const foldedSlice = /subscriptable by a slice|slice indices must be/

const peer = spawn(python, ["-W", "ignore", fileURLToPath(new URL("templates/peer.py", import.meta.url))], {
  stdio: ["pipe", "pipe", "inherit"],
})
const answers = createInterface({ input: peer.stdout })[Symbol.asyncIterator]()

const random = createRandom(seed)
const templates = [...constructs, ...Array.from({ length: count }, () => new RandomTemplate(random).template())]
let rendered = 0
let refused = 0
let different = 0
const given = context.replaceAll("\n", " ")
for (const template of templates) peer.stdin.write(`{"template": ${JSON.stringify(template)}, "context": ${given}}\n`)
peer.stdin.end()
for (const template of templates) {
  const line = await answers.next()
  if (line.done === true) throw new Error("the peer has ended")
  const theirs = JSON.parse(line.value) as { text: string } | { error: string }
  const ours = render(template)
  if ("text" in theirs && "text" in ours && theirs.text === ours.text) rendered += 1
  else if ("error" in theirs && "error" in ours) refused += 1
  else if ("text" in theirs && (address.test(theirs.text) || foldedSlice.test("error" in ours ? ours.error : "")))
    refused += 1
  else {
    different += 1
    if (process.env["ATROPOS_DUMP"] !== undefined) console.log(template)
    if (different <= 20) console.log(`differs: ${short(template)}\n  python ${short(theirs)}\n  ours   ${short(ours)}`)
  }
}
console.log(`templates: ${rendered} rendered alike, ${refused} refused alike, ${different} different (seed ${seed})`)
process.exit(different === 0 ? 0 : 1)
