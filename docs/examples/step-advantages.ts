// Advantages of steps: each answer of a rollout is credited by itself, instead of all of them by the rollout's score.
import { defineEnvironment, type InferenceMessage } from "atropos-rl"

export default defineEnvironment({
  name: "three_sums",
  description: "Three sums in one conversation, each credited by itself",
  rows: [
    [
      [1, 2],
      [3, 4],
      [5, 6],
    ],
    [
      [7, 1],
      [2, 9],
      [4, 4],
    ],
  ],
  rollout: async (sums, { session }) => {
    const messages: InferenceMessage[] = []
    const advantages: number[] = []
    for (const [a = 0, b = 0] of sums) {
      messages.push({ role: "user", content: `${a} + ${b}?` })
      const answer = await session.chat(messages, { maxTokens: 8 })
      messages.push(answer.message)
      advantages.push(answer.text.trim() === String(a + b) ? 1 : -1)
    }
    return { score: advantages.filter((credit) => credit > 0).length, advantages }
  },
})
