import type { CompareOptions } from "../compare/expressions.ts"
import type { MathTarget } from "../parse-answer.ts"

export interface MathCheck extends CompareOptions {
  gold: string
  answer: string
  targets?: readonly MathTarget[]
}

export type WorkerRequest = { id: number; check: MathCheck }
export type WorkerReply = { id: number; equal: boolean } | { id: number; error: string } | { ready: true }
