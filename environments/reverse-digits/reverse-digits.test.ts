import { describe, expect, test } from "vitest"

import { openTrial } from "atropos-rl/testing"

import reverseDigits, { isHeldOut, scoreReversal, strings } from "./reverse-digits.ts"

describe("a score is the share of positions that are right", () => {
  test.each([
    ["321", true, 1],
    ["321", false, 0.75],
    ["32", true, 0.5],
    ["3210", false, 0.75],
    ["123", true, 0.5],
    ["", true, 0],
    ["999", true, 0.25],
  ])("%j (ended: %s) scores %d", (answer, ended, score) => {
    expect(scoreReversal("123", answer, ended)).toBe(score)
  })
})

test("a tenth of the strings is held out, every digit at every place among them", () => {
  const heldOut = strings.filter(isHeldOut)
  expect(heldOut).toHaveLength(100)
  for (const place of [0, 1, 2]) expect(new Set(heldOut.map((text) => text[place])).size).toBe(10)
})

test("training draws every other string and never a held-out one", async () => {
  const trial = await openTrial(reverseDigits, { answer: () => "" })
  const drawn = new Set<unknown>()
  for (let draw = 0; draw < 900; draw++) drawn.add(await trial.environment.nextItem())
  expect(drawn).toEqual(new Set(strings.filter((text) => !isHeldOut(text))))
})

test("groups go out with their scores as they are, equal ones too", async () => {
  const replies = ["321", "321", "12", ""]
  const trial = await openTrial(reverseDigits, {
    answer: ({ index }) => replies[index] ?? "",
    config: { groupSize: 4, maxTokenLength: 100 },
  })
  const { groups } = await trial.collect("123")
  expect(groups[0]?.sequences.map(({ score }) => score)).toEqual([1, 1, 0.25, 0])
  const same = await openTrial(reverseDigits, { answer: () => "321", config: { groupSize: 2, maxTokenLength: 100 } })
  expect((await same.collect("123")).groups).toHaveLength(1)
})

test("an instruction comes as a system message, and the default is none", async () => {
  const promptWith = async (instruction?: string): Promise<unknown> => {
    const trial = await openTrial(reverseDigits, {
      answer: () => "321",
      config: { groupSize: 1, maxTokenLength: 100, ...(instruction === undefined ? {} : { instruction }) },
    })
    const { groups } = await trial.collect("123")
    return groups[0]?.sequences[0]?.conversation
  }
  const turns = [
    { role: "user", content: "123" },
    { role: "assistant", content: "321" },
  ]
  expect(await promptWith()).toMatchObject(turns)
  expect(await promptWith("Reverse the digits.")).toMatchObject([
    { role: "system", content: "Reverse the digits." },
    ...turns,
  ])
})
