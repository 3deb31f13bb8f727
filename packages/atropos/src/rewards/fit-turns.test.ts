import { expect, it } from "vitest"

import type { InferenceMessage } from "../inference/inference-server.ts"
import { fitTurns } from "./fit-turns.ts"

const messages: InferenceMessage[] = [
  { role: "system", content: "rules" },
  { role: "user", content: "first" },
  { role: "assistant", content: "call" },
  { role: "tool", content: "response" },
  { role: "assistant", content: "answer" },
  { role: "user", content: "second" },
  { role: "assistant", content: "answer" },
  { role: "user", content: "third" },
]
/** Ten tokens a message. */
const countTokens = (list: readonly InferenceMessage[]): number => 10 * list.length

function contents(list: readonly InferenceMessage[] | undefined): unknown[] | undefined {
  return list?.map(({ content }) => content)
}

it("leaves a conversation alone that is within its budget", () => {
  expect(fitTurns(messages, { maxTokens: 80, countTokens })).toEqual(messages)
})

it("leaves out as few of the oldest turns as need be, whole ones, and keeps the system message", () => {
  expect(contents(fitTurns(messages, { maxTokens: 79, countTokens }))).toEqual(["rules", "second", "answer", "third"])
  expect(contents(fitTurns(messages, { maxTokens: 39, countTokens }))).toEqual(["rules", "third"])
})

it("has no answer when the turns that must stay are too long", () => {
  expect(fitTurns(messages, { maxTokens: 19, countTokens })).toBeUndefined()
  expect(fitTurns(messages, { maxTokens: 39, countTokens, keepTurns: 2 })).toBeUndefined()
})

it("takes a conversation without user messages as it is", () => {
  const head = messages.slice(0, 1)
  expect(fitTurns(head, { maxTokens: 10, countTokens })).toEqual(head)
  expect(fitTurns([], { maxTokens: 0, countTokens })).toEqual([])
})
