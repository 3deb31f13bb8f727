export type { Expression, MathItem, RelationOperator } from "./expression.ts"
export type { Normalisation } from "./normalise.ts"
export {
  defaultTargets,
  parseAnswer,
  type ExprTarget,
  type LatexTarget,
  type MathTarget,
  type ParseAnswerOptions,
  type StringTarget,
} from "./parse-answer.ts"
export { mathEquals, verify, type MathEngine, type VerifyOptions } from "./verify.ts"
export { boxedAnswerTarget, parseBoxedAnswer, parseGoldAnswer } from "./boxed-answer.ts"
