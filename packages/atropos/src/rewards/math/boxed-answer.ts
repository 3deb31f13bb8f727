import type { MathItem } from "./expression.ts"
import { parseAnswer, type LatexTarget } from "./parse-answer.ts"

/** How replies are read that were asked for a `\boxed{…}`: the box first, then a formula behind "answer"; no repairs. */
export const boxedAnswerTarget: LatexTarget = {
  type: "latex",
  boxedPriority: 0,
  anchorless: false,
  normalisation: { basic: true, units: true, malformed: false, nits: false, boxed: "all" },
}

/** The answer of a reply that was asked for a box; empty when it has none. */
export function parseBoxedAnswer(text: string): MathItem[] {
  return parseAnswer(text, [boxedAnswerTarget], { mode: "first" })
}

/** A gold answer as a data set has it, with or without a box of its own; empty when it is no formula. */
export function parseGoldAnswer(gold: string): MathItem[] {
  return parseAnswer(`\\boxed{${gold}}`, [{ type: "latex" }], { mode: "first" })
}
