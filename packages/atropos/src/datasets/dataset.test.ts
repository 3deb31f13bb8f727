import { expect, it } from "vitest"

import { Dataset } from "./dataset.ts"
import { packRows } from "./packs/pack.ts"
import { taskPacks } from "./packs/packs.ts"
import { mathEquals } from "../rewards/math/verify.ts"

const numbers = Dataset.of(Array.from({ length: 100 }, (_, index) => index))

it("shuffles by seed, and every time the same", async () => {
  const first = await numbers.shuffle(42).toArray()
  expect(first).not.toEqual(await numbers.toArray())
  expect(first.toSorted((a, b) => a - b)).toEqual(await numbers.toArray())
  expect(await numbers.shuffle(42).toArray()).toEqual(first)
  expect(await numbers.shuffle(43).toArray()).not.toEqual(first)
})

it("shuffles in a buffer without holding more than that", async () => {
  let read = 0
  const counted = numbers.map((value) => {
    read += 1
    return value
  })
  const [first] = await counted.shuffle(1, { buffer: 10 }).take(1).toArray()
  expect(first).toBeLessThan(10)
  expect(read).toBe(11)
  const all = await numbers.shuffle(1, { buffer: 10 }).toArray()
  expect(all.toSorted((a, b) => a - b)).toEqual(await numbers.toArray())
})

it("takes, skips, filters and maps without touching the rest", async () => {
  const even = numbers.filter((value) => value % 2 === 0).map((value) => value * 10)
  expect(await even.skip(1).take(2).toArray()).toEqual([20, 40])
  expect(await even.take(0).toArray()).toEqual([])
})

it("holds rows out by seed: parts are separate, together all, and the same each time", async () => {
  const { train, test } = numbers.split({ share: 0.05 }, 42)
  const [kept, held] = [await train.toArray(), await test.toArray()]
  expect(held).toHaveLength(5)
  expect([...kept, ...held].toSorted((a, b) => a - b)).toEqual(await numbers.toArray())
  expect(await numbers.split({ share: 0.05 }, 42).test.toArray()).toEqual(held)
  await expect(numbers.split({ count: 100 }, 1).train.toArray()).rejects.toThrow("leave none to train on")
})

it.each(Object.values(taskPacks))(
  "the pack $name has 200 rows and more in each split, with all columns, none in both",
  async (pack) => {
    const [train, test] = [await packRows(pack, "train").toArray(), await packRows(pack, "test").toArray()]
    expect(Math.min(train.length, test.length)).toBeGreaterThanOrEqual(200)
    for (const row of [...train, ...test]) expect(Object.keys(row)).toEqual(expect.arrayContaining([...pack.columns]))
    const spelled = (row: object): string => JSON.stringify({ ...row, id: 0, unique_id: 0 })
    const known = new Set(train.map(spelled))
    expect(test.filter((row) => known.has(spelled(row)))).toEqual([])
    expect(await packRows(pack, "train").take(3).toArray()).toEqual(train.slice(0, 3))
  },
)

it("the answers of the packs are what their tasks come to", async () => {
  for await (const row of packRows(taskPacks["gsm8k"]!, "train", 200)) {
    const { answer } = row as { answer: string }
    for (const [, expression = "", value] of answer.matchAll(/<<([^=]+)=(-?\d+)>>/g)) {
      expect([expression, mathEquals(`$${expression}$`, `$${value}$`)]).toEqual([expression, true])
    }
    expect(answer.replaceAll(",", "")).toMatch(new RegExp(`>>(-?\\d+)[^]*#### \\1$`))
  }
  for await (const row of packRows(taskPacks["math"]!, "train", 200)) {
    const { answer, problem } = row as { answer: string; problem: string }
    expect([problem, mathEquals(`$${answer}$`, `\\boxed{${answer}}`)]).toEqual([problem, true])
  }
})
