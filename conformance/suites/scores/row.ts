import { z } from "zod"

const rolloutSchema = z.object({
  text: z.string(),
  finish_reason: z.enum(["stop", "length"]).default("stop"),
  prompt_tokens: z.int().optional(),
  completion_tokens: z.int().optional(),
})
export type RowRollout = z.infer<typeof rolloutSchema>

/** A row of an environment that scores single replies. */
export const singleTurnRowSchema = z.object({
  id: z.string(),
  environment: z.string(),
  variant: z.string().optional(),
  kind: z.enum(["reply", "group", "eval", "request"]),
  config: z.record(z.string(), z.unknown()).default({}),
  item: z.record(z.string(), z.unknown()).optional(),
  reply: rolloutSchema.optional(),
  rollouts: z.array(rolloutSchema).optional(),
  expected: z.record(z.string(), z.unknown()),
})
export type SingleTurnRow = z.infer<typeof singleTurnRowSchema>

/** Numbers within 1e-9, everything else equal; the first place that differs, or undefined. */
export function findDifference(expected: unknown, actual: unknown, path: string): string | undefined {
  if (typeof expected === "number" && typeof actual === "number") {
    return Math.abs(expected - actual) <= 1e-9 ? undefined : `${path}: expected ${expected}, got ${actual}`
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    if (expected.length !== actual.length) return `${path}: expected ${expected.length} entries, got ${actual.length}`
    for (const [index, value] of expected.entries()) {
      const difference = findDifference(value, actual[index], `${path}[${index}]`)
      if (difference !== undefined) return difference
    }
    return undefined
  }
  return expected === actual
    ? undefined
    : `${path}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`
}
