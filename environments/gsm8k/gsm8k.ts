// Grade-school word problems: think, then give the number in a box. The README has the task, the reward and the metrics.
import {
  afterThink,
  type DatasetFields,
  datasetFields,
  deepThinkingPrompt,
  defineEnvironment,
  type EnvironmentDefinition,
  environmentRows,
  type InferenceMessage,
  type MathItem,
  parseBoxedAnswer,
  parseGoldAnswer,
  penaliseLength,
  runIfMain,
  verify,
} from "atropos-rl"

/** One row of the data set; the number stands behind the last `#` of `answer`. */
export interface Gsm8kRow {
  question: string
  answer: string
  [column: string]: unknown
}

const systemPrompt = [
  deepThinkingPrompt,
  "You have 2048 tokens for this problem; try to use fewer.",
  "Give the answer inside \\boxed{}, as in \\boxed{your answer}: an answer in another form counts as wrong. End with it.",
].join("\n\n")

export function goldAnswer({ answer }: Gsm8kRow): string {
  return answer
    .slice(answer.lastIndexOf("#") + 1)
    .trim()
    .replaceAll(",", "")
}

export function promptOf({ question }: Gsm8kRow): InferenceMessage[] {
  return [
    { role: "system", content: systemPrompt },
    { role: "user", content: question },
  ]
}

/** Whether a reply is right; undefined for a row whose gold answer is no formula. */
export function isRight(row: Gsm8kRow, reply: string): boolean | undefined {
  const gold = parseGoldAnswer(goldAnswer(row))
  return gold.length === 0 ? undefined : verify(gold, parseBoxedAnswer(afterThink(reply)))
}

const columns = ["question", "answer"]

/** The environment in its short form, for variants of it. */
export const gsm8kDefinition: EnvironmentDefinition<Gsm8kRow, DatasetFields> = {
  name: "gsm8k",
  description: "Grade-school word problems, answered with a number in a box",
  config: datasetFields,
  defaults: {
    datasetName: "openai/gsm8k",
    datasetConfig: "main",
    tokenizerName: "NousResearch/DeepHermes-3-Llama-3-3B-Preview",
    groupSize: 8,
    batchSize: 12,
    totalSteps: 1000,
    stepsPerEval: 100,
    maxTokenLength: 2048,
    wandbName: "gsm8k",
  },
  servers: {
    modelName: "NousResearch/DeepHermes-3-Llama-3-3B-Preview",
    baseUrl: "http://localhost:9001/v1",
    serverType: "vllm",
    apiKey: "x",
    numRequestsForEval: 256,
  },
  rows: async ({ config, logger }) =>
    (await environmentRows<Gsm8kRow>(config, "train", { pack: "gsm8k", columns, logger })).toArray(),
  prompt: promptOf,
  sampling: { temperature: 1 },
  minTrainedTokens: 10,
  score: (row, answer, { split }) => {
    const right = isRight(row, answer.text)
    if (right === undefined) return undefined
    return right ? 1 : split === "eval" ? 0 : -1
  },
  gold: (row) => `<think>\n${row.answer.split("\n#")[0] ?? ""}\n</think>\nThe answer is \\boxed{${goldAnswer(row)}}.`,
  examples: [
    {
      question: "A shelf has 4 boards with 9 books each. 5 books are lent. How many are left?",
      answer: "There are 4 * 9 = <<4*9=36>>36 books.\n36 - 5 = <<36-5=31>>31 are left.\n#### 31",
    },
    {
      question: "Ana walks 800 metres each day. How many in 5 days?",
      answer: "800 * 5 = <<800*5=4000>>4000\n#### 4,000",
    },
  ],
  postprocess: (group, _row, { config }) => penaliseLength(group, { maxTokenLength: config.maxTokenLength }),
  evaluation: {
    rows: ({ config, logger }) => environmentRows<Gsm8kRow>(config, "test", { pack: "gsm8k", columns, logger }),
    sampling: { temperature: 0.6 },
    sample: (row, answer) => {
      const reply = afterThink(answer?.text ?? "")
      return {
        question: row.question,
        goldAnswer: goldAnswer(row),
        goldParsed: describe(parseGoldAnswer(goldAnswer(row))),
        modelParsed: describe(parseBoxedAnswer(reply)),
        responseAfterThink: reply,
      }
    },
  },
}

/** What was read as the answer, as text. */
function describe(items: readonly MathItem[]): string | null {
  const [item] = items
  if (item === undefined) return null
  return item.kind === "text" ? item.text : item.source
}

const gsm8k = defineEnvironment(gsm8kDefinition)

export default gsm8k

runIfMain(import.meta, gsm8k)
