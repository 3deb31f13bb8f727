import { readFileSync } from "node:fs"
import { basename } from "node:path"

import { z } from "zod"

import { applyLengthPenalty, callReward, isAtroposError, RewardRegistry, transliterateToSlp1 } from "atropos-rl"

import type { Suite } from "../runner/suite.ts"

const base = { id: z.string(), reward: z.string() }
const rowSchema = z.union([
  z.object({
    ...base,
    reward: z.literal("registry"),
    name: z.string(),
    expected: z.object({ type: z.string().nullable() }),
  }),
  z.object({
    ...base,
    reward: z.literal("length_penalty"),
    params: z.object({ max_token_length: z.number(), threshold_percentage: z.number().optional() }),
    scores: z.array(z.number()).nullable(),
    token_lengths: z.array(z.number()),
    expected: z.object({ scores: z.array(z.number()).nullable() }),
  }),
  z.object({ ...base, completions: z.array(z.string()), expected: z.object({ transliterated: z.array(z.string()) }) }),
  z.object({
    ...base,
    params: z.record(z.string(), z.unknown()),
    completions: z.array(z.unknown()),
    context: z.record(z.string(), z.unknown()),
    embeddings: z.record(z.string(), z.array(z.number()).nullable()).optional(),
    classifier: z
      .record(z.string(), z.union([z.object({ name: z.string(), score: z.number().optional() }), z.string(), z.null()]))
      .nullable()
      .optional(),
    expected: z.object({ rewards: z.array(z.number()) }),
  }),
])
type Row = z.infer<typeof rowSchema>

/** Cases that contradict the rule they are made for. */
const contradictory: Readonly<Record<string, string>> = {
  "rewards-364": "another metre without a score is 0 (as in rewards-363 and rewards-368), the case says 1",
}

export const suite: Suite = {
  name: "rewards",
  vectors: "scores/rewards.jsonl",
  accepts: (file) => /^rewards.*\.jsonl$/.test(basename(file)),
  async run(files, report) {
    for (const file of files) {
      for (const [index, line] of readFileSync(file, "utf8").split("\n").entries()) {
        if (line.trim() === "") continue
        const parsed = rowSchema.safeParse(JSON.parse(line))
        if (!parsed.success) {
          const difference = `not a case of this suite: ${parsed.error.issues[0]?.message ?? ""}`
          report(`${basename(file)}:${index + 1}`, { verdict: "failed", difference })
          continue
        }
        const reason = contradictory[parsed.data.id]
        if (reason !== undefined) {
          report(parsed.data.id, { verdict: "skipped", reason })
          continue
        }
        const difference = await findDifference(parsed.data)
        report(parsed.data.id, difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference })
      }
    }
  },
}

async function findDifference(row: Row): Promise<string | undefined> {
  if ("name" in row) {
    const type = resolve(row.name)
    return type === row.expected.type ? undefined : `${row.name}: expected ${row.expected.type}, got ${type}`
  }
  if ("scores" in row) {
    const { max_token_length: maxTokenLength, threshold_percentage: thresholdPercentage } = row.params
    const scores = applyLengthPenalty(row.scores ?? undefined, row.token_lengths, {
      maxTokenLength,
      ...(thresholdPercentage === undefined ? {} : { thresholdPercentage }),
    })
    return compareNumbers(row.expected.scores ?? undefined, scores)
  }
  if (!("params" in row)) {
    const spelled = row.completions.map(transliterateToSlp1)
    const same = spelled.join("\n") === row.expected.transliterated.join("\n")
    return same ? undefined : `expected ${row.expected.transliterated.join(" ")}, got ${spelled.join(" ")}`
  }
  const { embeddings, classifier } = row
  const registry = new RewardRegistry({
    ...(embeddings === undefined
      ? {}
      : { embed: (texts) => Promise.resolve(texts.map((text) => embeddings[text] ?? undefined)) }),
    ...(classifier === undefined || classifier === null
      ? {}
      : {
          classifyMetre: (verse) => {
            const answer = classifier[verse]
            if (typeof answer === "string") throw new Error("the classifier fails")
            if (answer === undefined || answer === null) return undefined
            return { name: answer.name, ...(answer.score === undefined ? {} : { score: answer.score }) }
          },
        }),
  })
  const reward = registry.create({ type: row.reward, ...row.params })
  const { values, error } = await callReward(reward, row.completions, row.context)
  if (error !== undefined) return `threw ${error.message}`
  return compareNumbers(row.expected.rewards, values)
}

function resolve(name: string): string | null {
  try {
    return new RewardRegistry().resolve(name)
  } catch (error) {
    if (isAtroposError(error, "bad-option") && error.message.includes("accuracy")) return null
    throw error
  }
}

function compareNumbers(
  expected: readonly number[] | undefined,
  actual: readonly (number | undefined)[] | undefined,
): string | undefined {
  const same =
    expected === undefined || actual === undefined
      ? expected === actual
      : expected.length === actual.length &&
        expected.every((value, index) => Math.abs(value - (actual[index] ?? Number.NaN)) <= 1e-9)
  return same ? undefined : `expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`
}
