// The files that `atropos init` writes: a small environment that works as it stands, to be changed line by line.

export interface TemplateNames {
  /** `my-env`: folder and files. */
  kebab: string
  /** `my_env`: the environment's name. */
  snake: string
  /** `myEnv`: the variable. */
  camel: string
}

export function environmentFile({ snake, camel }: TemplateNames): string {
  return `// The task: add two numbers. Change rows, prompt and score, and it is another one.
import { defineEnvironment, runIfMain, z } from "atropos-rl"

interface Row {
  a: number
  b: number
}

/** The last whole number in a text. */
export function readAnswer(text: string): number | undefined {
  const last = text.match(/-?\\d+/g)?.at(-1)
  return last === undefined ? undefined : Number(last)
}

const ${camel} = defineEnvironment({
  name: "${snake}",
  description: "Add two numbers",
  // Its own settings: \`--env.largest 9\`. Each needs a default and a description.
  config: z.object({
    largest: z.int().min(1).default(50).describe("largest number to be added"),
  }),
  defaults: { groupSize: 8, maxTokenLength: 64 },
  // An array is shuffled and walked through over and over; a generator like this one goes on until it ends.
  rows: function* rows({ config, random }): Generator<Row> {
    for (;;) yield { a: random.integer(0, config.largest), b: random.integer(0, config.largest) }
  },
  prompt: ({ a, b }) => [
    { role: "system", content: "Answer with the number alone." },
    { role: "user", content: \`\${a} + \${b} = ?\` },
  ],
  score: ({ a, b }, answer) => (readAnswer(answer.text) === a + b ? 1 : 0),
  // For \`atropos check\`: what a perfect policy would say, and rows that are there without any set-up.
  gold: ({ a, b }) => String(a + b),
  examples: [
    { a: 1, b: 2 },
    { a: 17, b: 25 },
  ],
  // For \`atropos evaluate\`, and during training every \`--env.steps_per_eval\` steps.
  evaluation: {
    rows: Array.from({ length: 20 }, (_, index) => ({ a: index, b: 2 * index })),
    sample: ({ a, b }) => ({ question: \`\${a} + \${b} = ?\`, goldAnswer: String(a + b) }),
  },
})

export default ${camel}

// Makes this file a command of its own: \`npx node ${"${file}"} serve\`.
runIfMain(import.meta, ${camel})
`.replace("${file}", `${snake.replaceAll("_", "-")}.ts`)
}

export function testFile({ kebab, camel }: TemplateNames): string {
  return `// Runs with \`npx node --test\`: no server, no model, no network.
import assert from "node:assert/strict"
import { test } from "node:test"

import { checkEnvironment, openTrial } from "atropos-rl/testing"

import ${camel}, { readAnswer } from "./${kebab}.ts"

test("the last number of an answer counts", () => {
  assert.equal(readAnswer("3 + 4 = 7"), 7)
  assert.equal(readAnswer("no idea"), undefined)
})

test("a right answer scores 1, a wrong one 0, and the group is worth sending", async () => {
  const trial = await openTrial(${camel}, {
    config: { groupSize: 2 },
    answer: ({ index }) => (index === 0 ? "7" : "8"),
  })
  const { groups } = await trial.collect({ a: 3, b: 4 })
  assert.deepEqual(
    groups[0]?.sequences.map(({ score }) => score),
    [1, 0],
  )
  assert.match(trial.policy.calls[0]?.prompt ?? "", /3 \\+ 4 = \\?/)
  await trial.close()
})

test("the environment holds what training needs", async () => {
  const results = await checkEnvironment(${camel})
  assert.deepEqual(
    results.filter(({ status }) => status === "failed"),
    [],
  )
})
`
}

export function readmeFile({ kebab, snake }: TemplateNames): string {
  return `# ${snake}

Add two numbers. Score: 1 for the right sum, else 0. Evaluation: 20 fixed sums, greedily.

| setting | default | meaning |
| --- | --- | --- |
| \`--env.largest\` | 50 | largest number to be added |

\`\`\`sh
npx node --test ${kebab}.test.ts                         # its test
npx atropos check ${kebab}.ts                            # what training needs of it
npx atropos process ${kebab}.ts --testing --env.total_steps 4     # groups and a page, from a fake model
npx atropos serve ${kebab}.ts --openai.server_type vllm --openai.base_url http://localhost:9001/v1 --env.tokenizer_name MODEL
\`\`\`
`
}
