import { expressionsEqual, type CompareOptions } from "./compare/expressions.ts"
import type { Expression, MathItem } from "./expression.ts"
import { Budget, comparisonSteps } from "./numbers/budget.ts"
import { defaultTargets, parseAnswer, type MathTarget } from "./parse-answer.ts"

/** Decides pairs that the built-in comparison does not find equal, such as a computer algebra system would. */
export interface MathEngine {
  readonly name: string
  /** Whether the answer equals the gold one; undefined when it cannot tell. */
  equal(gold: Expression, answer: Expression): boolean | undefined
}

export interface VerifyOptions extends CompareOptions {
  /** Asked about pairs of formulas that the built-in comparison does not find equal. */
  engine?: MathEngine
}

/**
 * Whether any of the gold items equals any of the answer's. The gold ones come first: they decide what is asked for, so
 * `x = 5` answers 5, but 0 does not answer `a + b = 0`. Never throws.
 */
export function verify(gold: readonly MathItem[], answer: readonly MathItem[], options: VerifyOptions = {}): boolean {
  const budget = new Budget(comparisonSteps)
  return gold.some((wanted) => answer.some((given) => itemsEqual(wanted, given, options, budget)))
}

function itemsEqual(gold: MathItem, answer: MathItem, options: VerifyOptions, budget: Budget): boolean {
  if (gold.kind === "text" || answer.kind === "text") {
    return (
      gold.kind === "text" &&
      answer.kind === "text" &&
      gold.text.trim() !== "" &&
      gold.text.trim() === answer.text.trim()
    )
  }
  const equal = expressionsEqual(gold.expression, answer.expression, {
    floatRounding: options.floatRounding ?? 6,
    strict: options.strict ?? true,
    allowSetRelation: options.allowSetRelation ?? false,
    // Environments box the column of a data set; there the sign is often only part of the column's spelling.
    barePercentage: gold.boxed,
    budget,
  })
  return equal || (options.engine?.equal(gold.expression, answer.expression) ?? false)
}

/** Finds the answers in two texts and compares them. */
export function mathEquals(
  gold: string,
  answer: string,
  options: VerifyOptions & { targets?: readonly MathTarget[] } = {},
): boolean {
  const targets = options.targets ?? defaultTargets
  return verify(parseAnswer(gold, targets), parseAnswer(answer, targets), options)
}
