// Tools: a schema gives the policy's description of a tool, the check of its arguments and the type of its call.
import { defineEnvironment, defineTool, describeTools, type InferenceMessage, runToolCalls, z } from "atropos-rl"

const prices: Readonly<Record<string, number>> = { apple: 3, pear: 4, plum: 7 }

export const priceOf = defineTool({
  name: "price_of",
  description: "The price of one fruit",
  input: z.object({ fruit: z.string().describe("its name, in the singular") }),
  call: ({ fruit }) => {
    const price = prices[fruit]
    if (price === undefined) throw new Error(`we have no ${fruit}`)
    return { price }
  },
})

const tools = [priceOf]

export default defineEnvironment({
  name: "fruit_prices",
  description: "Look prices up and add them",
  config: z.object({ maxTurns: z.int().default(6).describe("answers per rollout") }),
  rows: [
    { order: ["apple", "pear"], total: 7 },
    { order: ["plum", "plum", "apple"], total: 17 },
  ],
  rollout: async ({ order, total }, { session, config, signal }) => {
    const messages: InferenceMessage[] = [
      {
        role: "user",
        content: `What do ${order.join(", ")} cost together? Look the prices up, then answer with the sum.`,
      },
    ]
    let mistakes = 0
    for (let turn = 0; turn < config.maxTurns; turn++) {
      const answer = await session.chat(messages, { tools: describeTools(tools) })
      messages.push(answer.message)
      const outcomes = await runToolCalls(tools, answer.message, { signal })
      if (outcomes.length === 0) {
        const right = answer.text.includes(String(total))
        return { score: (right ? 1 : 0) - 0.1 * mistakes, metrics: { toolMistakes: mistakes } }
      }
      // A call that can not be run is answered with what is wrong, and the policy may try again.
      mistakes += outcomes.filter(({ status }) => status !== "done").length
      messages.push(...outcomes.map(({ message }) => message))
    }
    return { score: -0.1 * mistakes, end: "turn-limit" }
  },
  // What a perfect policy says in each turn: its calls one by one, then the sum. For `atropos check` and `--testing`.
  gold: ({ order, total }, { turn }) => {
    const fruit = order[turn]
    if (fruit === undefined) return String(total)
    return `<tool_call>\n${JSON.stringify({ name: "price_of", arguments: { fruit } })}\n</tool_call>`
  },
})
