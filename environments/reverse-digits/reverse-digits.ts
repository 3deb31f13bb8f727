import { defineEnvironment, runIfMain } from "atropos-rl"

const digits = 3
const strings = Array.from({ length: 10 ** digits }, (_, index) => String(index).padStart(digits, "0"))
const isHeldOut = (text: string): boolean => (Number(text) * 7919) % 10 === 3

const reverseDigits = defineEnvironment({
  name: "reverse_digits",
  rows: strings.filter((text) => !isHeldOut(text)),
  prompt: (text) => `<|user|>${text}<|assistant|>`,
  score: (text, answer, rollout) => {
    const wanted = [...text].toReversed().join("")
    const hits = [...wanted].filter((digit, index) => answer.text[index] === digit).length
    const ended = answer.finishReason === "stop" && answer.text.length === wanted.length ? 1 : 0
    return (hits + ended) / (wanted.length + 1)
  },
  evaluation: { rows: strings.filter(isHeldOut) },
})

export default reverseDigits
runIfMain(import.meta, reverseDigits)
