// Reverse a string of digits: the task of the quick start. Small enough to be learned from random weights in half a
// minute, and whether it was learned shows on strings that were never seen.
import { defineEnvironment, runIfMain } from "atropos-rl"

const digits = 3
const strings = Array.from({ length: 10 ** digits }, (_, index) => String(index).padStart(digits, "0"))

/** One string in ten, spread over all of them: never drawn in training. */
export function isHeldOut(text: string): boolean {
  return ((Number(text) * 7919) % 10_007) % 10 === 0
}

/** The share of the answer's positions that are right; its end counts as one. */
export function reversalScore(text: string, answer: string, ended: boolean): number {
  const wanted = text.split("").toReversed()
  const right = wanted.filter((digit, index) => answer[index] === digit).length
  const endsThere = ended && answer.length === wanted.length ? 1 : 0
  return (right + endsThere) / (wanted.length + 1)
}

const reverseDigits = defineEnvironment({
  name: "reverse_digits",
  description: "Reverse a string of three digits; a score for each position that is right",
  defaults: { maxTokenLength: digits + 1, ensureScoresAreNotSame: false },
  rows: strings.filter((text) => !isHeldOut(text)),
  prompt: (text) => [{ role: "user", content: text }],
  score: (text, answer) => reversalScore(text, answer.text, answer.finishReason === "stop"),
  evaluation: { rows: strings.filter(isHeldOut) },
})

export default reverseDigits

runIfMain(import.meta, reverseDigits)
