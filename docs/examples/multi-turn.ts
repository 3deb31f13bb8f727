// Several turns: the policy guesses a number and is told higher or lower, until it is right or its guesses are used up.
import { defineEnvironment, type InferenceMessage, z } from "atropos-rl"

export default defineEnvironment({
  name: "guess_number",
  description: "Find a number from 1 to 100 by guessing",
  config: z.object({ guesses: z.int().min(1).default(7).describe("guesses per rollout") }),
  rows: Array.from({ length: 100 }, (_, index) => index + 1),
  rollout: async (secret, { session, config }) => {
    const messages: InferenceMessage[] = [
      { role: "system", content: "Guess my number from 1 to 100. Answer with a number alone." },
      { role: "user", content: "Your first guess?" },
    ]
    for (let guess = 1; guess <= config.guesses; guess++) {
      const answer = await session.chat(messages, { maxTokens: 8 })
      messages.push(answer.message)
      const number = Number(answer.text)
      if (number === secret) return { score: 1 - guess / 100, metrics: { guesses: guess } }
      if (answer.finishReason === "length") return { score: -1, end: "token-limit" }
      messages.push({ role: "user", content: number < secret ? "Higher." : "Lower." })
    }
    return { score: 0, end: "turn-limit", metrics: { guesses: config.guesses } }
  },
})
