import fc from "fast-check"
import { expect, test } from "vitest"

import { findBadId, TokenIds } from "./token-ids.ts"

const jsonOf = (list: TokenIds): string => `${Buffer.from(list.openJson).toString()}]`
const ids = fc.array(fc.integer({ min: 0, max: 200_000 }), { maxLength: 12 })

test("whatever goes on from a prompt, every prompt keeps its ids, its JSON and its largest id", () => {
  // Each step goes on from an earlier prompt and asks for the JSON of another.
  const steps = fc.array(fc.record({ from: fc.nat(), more: fc.array(ids, { maxLength: 3 }), json: fc.nat() }))
  fc.assert(
    fc.property(ids, steps, (first, walk) => {
      const prompts = [{ made: TokenIds.copy(first), expected: first }]
      const pick = (at: number): (typeof prompts)[number] => prompts[at % prompts.length] ?? expect.unreachable()
      for (const { from, more, json } of walk) {
        const { made, expected } = pick(from)
        prompts.push({ made: made.followedBy(...more), expected: [expected, ...more].flat() })
        const asked = pick(json)
        expect(jsonOf(asked.made)).toBe(JSON.stringify(asked.expected))
      }
      for (const { made, expected } of prompts) {
        expect(Array.from(made)).toEqual(expected)
        expect([jsonOf(made), JSON.stringify(made)]).toEqual([JSON.stringify(expected), JSON.stringify(expected)])
        const largest = Math.max(-1, ...expected)
        expect([made.areBelow(largest + 1), expected.length > 0 && made.areBelow(largest)]).toEqual([true, false])
      }
    }),
  )
})

test("JSON that was handed out stays what it is when the prompt goes on", () => {
  const prompt = TokenIds.copy([1, 2]).followedBy([3])
  const json = prompt.openJson
  expect([jsonOf(prompt.followedBy([4, 5])), Buffer.from(json).toString()]).toEqual(["[1,2,3,4,5]", "[1,2,3"])
})

test("the first to go on from a prompt shares its memory, a second one from the same prompt does not", () => {
  const prompt = TokenIds.copy([1, 2]).followedBy([3, 4])
  const [first, second] = [prompt.followedBy([5]), prompt.followedBy([6])]
  expect([first.buffer === prompt.buffer, second.buffer === prompt.buffer]).toEqual([true, false])
})

test("a list that was handed in and changes afterwards changes no prompt", () => {
  const given = [1, 2]
  const prompt = TokenIds.copy(given)
  given[0] = 9
  expect(Array.from(prompt)).toEqual([1, 2])
})

test("reads as a list does: index, slices, search, parts of it written as JSON", () => {
  const prompt = TokenIds.copy([5, 6, 7])
  expect([prompt[1], prompt.at(-1), prompt.indexOf(7), prompt.length]).toEqual([6, 7, 2, 3])
  const part = prompt.slice(1)
  if (!(part instanceof TokenIds)) expect.unreachable()
  expect([JSON.stringify(part), jsonOf(part)]).toEqual(["[6,7]", "[6,7]"])
  expect(Array.from(part.followedBy([8]))).toEqual([6, 7, 8])
  expect(Array.from(prompt)).toEqual([5, 6, 7])
})

test("what is no token id is refused with its place, and nothing is added", () => {
  const prompt = TokenIds.copy([1])
  for (const bad of [-1, 1.5, Number.NaN, 2 ** 31, Number.POSITIVE_INFINITY]) {
    expect(() => prompt.followedBy([7, bad])).toThrow(
      `token ids must be integers from 0 on, received ${bad} at index 1`,
    )
    expect(() => TokenIds.copy([bad])).toThrow(expect.objectContaining({ code: "bad-option" }))
  }
  expect(Array.from(prompt.followedBy([2]))).toEqual([1, 2])
})

test("ids beyond a vocabulary are found in either kind of list", () => {
  const prompt = TokenIds.copy([1, 9])
  prompt.followedBy([30])
  expect([findBadId(prompt, 10), findBadId(prompt, 9), findBadId([1, 9], 9), findBadId([1, -1], 9)]).toEqual([
    undefined,
    9,
    9,
    -1,
  ])
})
