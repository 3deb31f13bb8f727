// Overrides: what the trainer shall do otherwise for one sequence, or for a whole group.
import { defineEnvironment } from "atropos-rl"

export default defineEnvironment({
  name: "no_penalty_for_length",
  description:
    "Count; an answer that is cut teaches nothing, and a group with a right answer is also trained on as text",
  rows: [3, 5, 8],
  prompt: (last) => `Count from 1 to ${last}:`,
  score: (last, answer) => ({
    score: answer.text.trim().endsWith(String(last)) ? 1 : 0,
    ...(answer.finishReason === "length" ? { overrides: { set_advantage_to_zero: true } } : {}),
  }),
  postprocess: (group) => ({
    ...group,
    groupOverrides: { sft: group.sequences.some(({ score }) => score === 1) },
  }),
})
