// The examples of docs/environments.md do what the page says.
import { checkEnvironment, openTrial, type ScriptedCall } from "atropos-rl/testing"
import { expect, test } from "vitest"

import haggle from "./agents.ts"
import pixels from "./images.ts"
import Poems from "./judge.ts"
import guessNumber from "./multi-turn.ts"
import noPenalty from "./overrides.ts"
import threeSums from "./step-advantages.ts"
import fruitPrices from "./tools.ts"

const scores = (group: { sequences: readonly { score: number }[] } | undefined): number[] | undefined =>
  group?.sequences.map(({ score }) => score)

test("multi-turn: the conversation is one sequence, every answer trained", async () => {
  const trial = await openTrial(guessNumber, {
    config: { groupSize: 2, guesses: 3 },
    // The first rollout halves its way to 25, the second stays at 1.
    answer: ({ turn, index }) => (index % 2 === 0 ? ["50", "25"][turn] : "1") ?? "",
  })
  const { groups, failures } = await trial.collect(25)
  expect(failures).toEqual([])
  expect(scores(groups[0])).toEqual([0.98, 0])
  const [found, lost] = groups[0]?.sequences ?? []
  const { tokenizer } = trial.environment
  const trained = found?.tokens.filter((_, position) => found.masks[position] !== -100) ?? []
  expect(tokenizer.decode(trained).match(/\d+/g)).toEqual(["50", "25"])
  expect(lost?.conversation?.map(({ role }) => role).join()).toBe("system,user,assistant,user,assistant,user,assistant")
})

test("tools: arguments are checked, results and mistakes go back to the policy", async () => {
  const call = (fruit: string): string =>
    `<tool_call>\n{"name": "price_of", "arguments": {"fruit": "${fruit}"}}\n</tool_call>`
  const trial = await openTrial(fruitPrices, {
    config: { groupSize: 2 },
    answer: ({ turn, index, prompt }) => {
      const lost = turn === 0 ? index === 1 : prompt.includes('"fig"')
      return (lost ? [call("fig"), "12"] : [call("apple"), call("pear"), "7"])[turn] ?? ""
    },
  })
  const { groups, failures } = await trial.collect({ order: ["apple", "pear"], total: 7 })
  expect(failures).toEqual([])
  expect(scores(groups[0])).toEqual([1, -0.1])
  const told = groups[0]?.sequences.map(({ conversation }) =>
    conversation?.filter(({ role }) => role === "tool").map(({ content }) => content),
  )
  expect(told).toEqual([['{"price":3}', '{"price":4}'], ["we have no fig"]])
})

test("agents: each gets a group of its own, of its own scores", async () => {
  const trial = await openTrial(haggle, {
    config: { groupSize: 2 },
    answer: ({ agent, index }) => (agent === "seller" ? (index === 0 ? "50" : "70") : index === 2 ? "Yes" : "no"),
  })
  const { groups, failures } = await trial.collect({ cost: 20, value: 60 })
  expect(failures).toEqual([])
  expect(groups.map(scores)).toEqual([
    [30, 0],
    [10, 0],
  ])
})

test("judge: the whole group is scored by another server, whose failure is the provider's", async () => {
  const judge = ({ prompt }: ScriptedCall): string => (prompt.includes("2: line 2") ? "2" : "0")
  const trial = await openTrial(Poems, { answer: ({ index }) => `line ${index}`, helpers: { judge } })
  const { groups } = await trial.collect("rain")
  expect(scores(groups[0])).toEqual([0, 0, 1, 0])
  expect(trial.helpers["judge"]?.calls).toHaveLength(1)
  expect(trial.policy.calls.every(({ prompt }) => !prompt.includes("Which is the best"))).toBe(true)
})

test("images: they stand beside the sequences", async () => {
  const trial = await openTrial(pixels, {
    config: { groupSize: 2 },
    answer: ({ index }) => (index === 0 ? "White" : "black"),
  })
  const { groups } = await trial.collect("white")
  expect(scores(groups[0])).toEqual([1, 0])
  expect(groups[0]?.sequences.map(({ image }) => image)).toEqual(Array(2).fill(expect.stringMatching(/^iVBOR/)))
})

test("overrides: of a sequence that was cut, and of a group with a right answer", async () => {
  const trial = await openTrial(noPenalty, {
    config: { groupSize: 2, maxTokenLength: 12 },
    answer: ({ index }) => (index === 0 ? "1 2 3" : "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"),
  })
  const { groups } = await trial.collect(3)
  expect(scores(groups[0])).toEqual([1, 0])
  expect(groups[0]?.sequences.map(({ overrides }) => overrides)).toEqual([undefined, { set_advantage_to_zero: true }])
  expect(groups[0]?.groupOverrides).toEqual({ sft: true })
})

test("step advantages: each answer's tokens carry its own credit", async () => {
  const trial = await openTrial(threeSums, {
    config: { groupSize: 1 },
    answer: ({ turn }) => ["3", "8", "11"][turn] ?? "",
  })
  const { groups } = await trial.collect([
    [1, 2],
    [3, 4],
    [5, 6],
  ])
  expect(scores(groups[0])).toEqual([2])
  const [sequence] = groups[0]?.sequences ?? []
  const credits = sequence?.advantages?.filter((_, position) => sequence.masks[position] !== -100)
  expect([...new Set(credits)]).toEqual([1, -1])
  expect(credits?.[0]).toBe(1)
  expect(credits?.at(-1)).toBe(1)
  expect(sequence?.advantages?.[0]).toBe(0)
})

test("tools: a gold answer for each turn lets check try the whole rollout", async () => {
  const results = await checkEnvironment(fruitPrices)
  expect(results.filter(({ status }) => status !== "passed")).toEqual([])
})
