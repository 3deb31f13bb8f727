import { expect, expectTypeOf, test } from "vitest"
import { z } from "zod"

import { defineEnvironment } from "./define-environment.ts"
import { openTrial } from "./testing/trial.ts"

const sums = Array.from({ length: 20 }, (_, number) => ({ a: number, b: number * 2 }))

const addition = defineEnvironment({
  name: "addition",
  config: z.object({ bonus: z.number().default(0.5).describe("for a right answer") }),
  defaults: { groupSize: 2 },
  rows: sums,
  prompt: ({ a, b }) => [{ role: "user", content: `${a} + ${b}?` }],
  score: ({ a, b }, answer, { config }) => (answer.text === String(a + b) ? 1 + config.bonus : 0),
  evaluation: {
    rows: sums.slice(0, 4),
    sample: ({ a, b }) => ({ question: `${a} + ${b}?`, goldAnswer: String(a + b) }),
  },
})

function solve(prompt: string): string {
  const [, a = "", b = ""] = /(\d+) \+ (\d+)\?/.exec(prompt) ?? []
  return String(Number(a) + Number(b))
}

test("a row, a prompt and a score make an environment", async () => {
  const trial = await openTrial(addition, { answer: ({ prompt, index }) => (index === 0 ? solve(prompt) : "no") })
  const { groups, dropped } = await trial.collect({ a: 3, b: 4 })
  expect(dropped).toEqual([])
  expect(groups).toHaveLength(1)
  expect(groups[0]?.sequences.map(({ score }) => score)).toEqual([1.5, 0])
  expect(trial.policy.calls.map(({ prompt }) => prompt)).toEqual([
    expect.stringContaining("3 + 4?"),
    expect.stringContaining("3 + 4?"),
  ])
  expect(trial.environment.metrics()).toEqual({ "train/percent_correct": 0.75 })
})

test("the configuration is typed through to prompt and score", () => {
  defineEnvironment({
    name: "typed",
    config: z.object({ depth: z.int().default(3) }),
    defaults: { depth: 4, groupSize: 8 },
    rows: [1],
    prompt: (row, { config }) => {
      expectTypeOf(row).toEqualTypeOf<number>()
      expectTypeOf(config.depth).toEqualTypeOf<number>()
      expectTypeOf(config.groupSize).toEqualTypeOf<number>()
      // @ts-expect-error: no such field
      return String(config.width)
    },
    score: () => 1,
  })
})

test("the default evaluation reports the share of full marks, the mean score and samples", async () => {
  const trial = await openTrial(addition, { answer: ({ prompt, index }) => (index < 3 ? solve(prompt) : "no") })
  const result = await trial.evaluate()
  expect(result?.metrics).toEqual({ "eval/percent_correct": 0.75, "eval/mean_score": 1.125 })
  expect(result?.generationParameters).toEqual({ temperature: 0 })
  expect(result?.samples?.[3]).toEqual({
    question: "3 + 6?",
    goldAnswer: "9",
    messages: [
      { role: "user", content: "3 + 6?" },
      { role: "assistant", content: "no" },
    ],
    score: 0,
    correct: false,
    finishReason: "stop",
  })
  expect(trial.policy.calls.every(({ split, sampling }) => split === "eval" && sampling.temperature === 0)).toBe(true)
})

test("a failed rollout of an evaluation is counted and shown, and is no wrong answer", async () => {
  const trial = await openTrial(addition, {
    answer: ({ prompt, index }) => (index === 1 ? new Error("away") : solve(prompt)),
  })
  const result = await trial.evaluate()
  expect(result?.metrics).toEqual({ "eval/percent_correct": 1, "eval/mean_score": 1.5, "eval/failed": 1 })
  expect(result?.samples?.at(-1)).toEqual({ error: "environment: away" })
  const down = await openTrial(addition, { answer: () => new Error("away") })
  await expect(down.evaluate()).rejects.toThrow("all 4 rollouts failed, the first at environment: away")
})

test("an array is walked through shuffled, over and over, and from where a checkpoint left it", async () => {
  const trial = await openTrial(addition, { answer: () => "" })
  const first = []
  for (let count = 0; count < 40; count++) first.push(await trial.environment.nextItem())
  expect(first.slice(0, 20).map((row) => row?.a)).not.toEqual(sums.map(({ a }) => a))
  expect(first.slice(20)).toEqual(first.slice(0, 20))
  expect(new Set(first.slice(0, 20)).size).toBe(20)
  expect(trial.environment.saveCheckpoint()).toEqual({ iter: 40 })

  const second = await openTrial(addition, { answer: () => "" })
  await second.environment.loadCheckpoint({ iter: 7 })
  expect(await second.environment.nextItem()).toEqual(first[7])
})

test("rows that are generated come in their order until they end", async () => {
  const counting = defineEnvironment({
    name: "counting",
    rows: async function* count() {
      for (let number = 0; number < 3; number++) yield number
    },
    prompt: String,
    score: () => 1,
  })
  const trial = await openTrial(counting, { answer: () => "" })
  const items = [0, 0, 0, 0].map(async () => trial.environment.nextItem())
  expect(await Promise.all(items)).toEqual([0, 1, 2, undefined])
})

test("a score that throws fails its rollout at the scorer, and no other", async () => {
  const strict = defineEnvironment({
    name: "strict",
    defaults: { groupSize: 3 },
    rows: [1],
    prompt: () => "say a number:",
    score: (_row, answer) => {
      if (answer.text === "x") throw new Error("no number")
      return Number(answer.text)
    },
  })
  const trial = await openTrial(strict, { answer: ({ index }) => ["1", "x", "3"][index] ?? "" })
  const { groups, dropped, failures } = await trial.collect()
  expect(failures).toMatchObject([{ boundary: "scorer", cause: { message: "no number" }, retryable: false }])
  expect(groups).toEqual([])
  expect(dropped).toMatchObject([
    {
      reason: "rollout-failed",
      detail: "1 rollout failed, the first at scorer: no number",
      group: { sequences: [{}, {}] },
    },
  ])
})

test("a definition without a way to score is refused at once", () => {
  expect(() => defineEnvironment({ name: "half", rows: [1], prompt: String })).toThrow(
    "half: give either prompt and score",
  )
})
