import { expect, test } from "vitest"

import { TokenIds } from "../../chat/token-ids.ts"
import { requestBody } from "./request-body.ts"

const textOf = (body: unknown): string => Buffer.concat(requestBody(body)).toString()
const ids = TokenIds.copy([3, 4]).followedBy([5])
const list = [3, 4, 5]

test.for([
  ["as a field", { model: "m", input_ids: ids, stop: ["a\n"] }, { model: "m", input_ids: list, stop: ["a\n"] }],
  ["inside of one", { prompt: { prompt_token_ids: ids }, n: 1 }, { prompt: { prompt_token_ids: list }, n: 1 }],
  ["as a list's only prompt", { prompts: [ids], n: undefined }, { prompts: [list] }],
  ["before nothing", { prompts: [ids, undefined] }, { prompts: [list, undefined] }],
  ["beside nothing", { prompt: ids }, { prompt: list }],
])("a growing prompt %s is written as its list", ([, given, same]) => {
  expect(textOf(given)).toBe(JSON.stringify(same))
})

test("a body without one is written as JSON.stringify does", () => {
  const body = { prompt: [1, 2], extra: null, none: undefined, nested: { at: new Date(0) }, empty: [] }
  expect(textOf(body)).toBe(JSON.stringify(body))
})
