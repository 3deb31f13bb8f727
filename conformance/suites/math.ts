import { readFileSync } from "node:fs"
import { basename } from "node:path"

import { z } from "zod"

import { parseAnswer, verify, type MathTarget, type VerifyOptions } from "atropos-rl"

import type { Suite } from "../runner/suite.ts"

const caseSchema = z.object({
  gold: z.string(),
  answer: z.string(),
  equal: z.boolean(),
  targets: z.array(z.enum(["latex", "expr", "string"])),
  precision: z.int().default(6),
  kind: z.string().optional(),
})
type Case = z.infer<typeof caseSchema>

/** Cases made for an option that their rows do not carry, or that no sound comparison can meet. */
const peculiar: readonly (Pick<Case, "gold" | "answer" | "equal"> &
  ({ options: VerifyOptions } | { outOfReach: string }))[] = [
  { gold: "$f(x)$", answer: "$f(y)$", equal: true, options: { strict: false } },
  {
    gold: String.raw`$x \in [-2,7]$`,
    answer: String.raw`$-2 \\le x \\le 7$`,
    equal: true,
    options: { allowSetRelation: true },
  },
  {
    gold: String.raw`$1 - \frac{1}{\mathrm{e}}$`,
    answer: String.raw`$1 + \frac{1}{\mathrm{e}}$`,
    equal: true,
    outOfReach: "1 - 1/e is not 1 + 1/e",
  },
]

export const suite: Suite = {
  name: "math",
  vectors: "math-cases.jsonl",
  threshold: 0.99,
  accepts: (file) => /math.*cases.*\.jsonl$/.test(basename(file)),
  run(files, report) {
    for (const file of files) {
      readFileSync(file, "utf8")
        .split("\n")
        .forEach((line, index) => {
          if (line.trim() === "") return
          const id = `${basename(file)}:${index + 1}`
          const parsed = caseSchema.safeParse(JSON.parse(line))
          if (!parsed.success) {
            report(id, { verdict: "failed", difference: `not a case: ${parsed.error.issues[0]?.message ?? ""}` })
            return
          }
          const row = parsed.data
          const special = peculiar.find(
            (other) => other.gold === row.gold && other.answer === row.answer && other.equal === row.equal,
          )
          if (special !== undefined && "outOfReach" in special) {
            report(id, { verdict: "skipped", reason: special.outOfReach })
            return
          }
          const equal = decide(row, special?.options ?? {})
          if (equal === row.equal) report(id, { verdict: "passed" })
          else report(id, { verdict: "failed", difference: describe(row, equal) })
        })
    }
    return Promise.resolve()
  },
}

function decide(row: Case, options: VerifyOptions): boolean {
  const targets = row.targets.map((type): MathTarget => ({ type }))
  return verify(parseAnswer(row.gold, targets), parseAnswer(row.answer, targets), {
    floatRounding: row.precision,
    ...options,
  })
}

function describe(row: Case, equal: boolean): string {
  const shorten = (text: string): string => (text.length > 120 ? `…${text.slice(-120)}` : text)
  return `${row.kind ?? ""}: expected ${row.equal}, got ${equal}; gold ${JSON.stringify(shorten(row.gold))}, answer ${JSON.stringify(shorten(row.answer))}`
}
