// Reverse a string of digits: the task of the quick start. Small enough to be learned from random weights in half a
// minute, and whether it was learned shows on strings that were never drawn in training.
import { defineEnvironment, type InferenceMessage, runIfMain } from "atropos-rl"
import { z } from "zod"

const digits = 3

/** All strings of three digits. */
export const strings: readonly string[] = Array.from({ length: 10 ** digits }, (_, index) =>
  String(index).padStart(digits, "0"),
)

/** One string in ten, spread over all of them: never drawn in training. */
export function isHeldOut(text: string): boolean {
  return ((Number(text) * 7919) % 10_007) % 10 === 0
}

/** The share of the answer's positions that are right; ending where it should counts as one of them. */
export function scoreReversal(text: string, answer: string, ended: boolean): number {
  const wanted = text.split("").toReversed()
  const right = wanted.filter((digit, index) => answer[index] === digit).length
  const endsThere = ended && answer.length === wanted.length ? 1 : 0
  return (right + endsThere) / (wanted.length + 1)
}

const reverseDigits = defineEnvironment({
  name: "reverse_digits",
  description: "Reverse a string of three digits; every position that is right counts",
  config: z.object({
    instruction: z
      .string()
      .default("")
      .describe("system prompt, for models that do not learn the task from its score alone; none when empty"),
  }),
  defaults: {
    groupSize: 16,
    // Three digits and the end token.
    maxTokenLength: digits + 1,
    // So that the mean score of what is sent is that of the policy, also when it is nearly always right.
    ensureScoresAreNotSame: false,
    tokenizerName: "runs/policy-tokenizer",
  },
  servers: { baseUrl: "http://localhost:9001/v1", modelName: "policy", serverType: "vllm" },
  rows: strings.filter((text) => !isHeldOut(text)),
  prompt: (text, { config }) => [
    ...(config.instruction === "" ? [] : [{ role: "system", content: config.instruction } satisfies InferenceMessage]),
    { role: "user", content: text },
  ],
  score: (text, answer) => scoreReversal(text, answer.text, answer.finishReason === "stop"),
  gold: (text) => text.split("").toReversed().join(""),
  evaluation: { rows: strings.filter(isHeldOut) },
})

export default reverseDigits

runIfMain(import.meta, reverseDigits)
