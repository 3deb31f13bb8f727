// Several agents, all played by the policy: each has a session and a score of its own, and so a group of its own.
import { defineEnvironment, type InferenceMessage } from "atropos-rl"

export default defineEnvironment({
  name: "haggle",
  description: "A seller and a buyer agree on a price",
  rows: [
    { cost: 20, value: 60 },
    { cost: 35, value: 50 },
  ],
  rollout: async ({ cost, value }, { agent }) => {
    const seller = agent("seller")
    const buyer = agent("buyer")
    const offered = await seller.chat(ask(`You sell a lamp that cost you ${cost}. Name your price, a number alone.`))
    const price = Number(offered.text)
    const said = await buyer.chat(ask(`A lamp is worth ${value} to you. It is offered for ${price}. Say yes or no.`))
    const deal = said.text.trim().toLowerCase() === "yes" && Number.isFinite(price)
    return {
      // The rollout's own session was not used, so this score stands nowhere but in the metrics.
      score: deal ? 1 : 0,
      agents: {
        seller: { score: deal ? price - cost : 0 },
        buyer: { score: deal ? value - price : 0 },
      },
    }
  },
})

function ask(content: string): InferenceMessage[] {
  return [{ role: "user", content }]
}
