import { expect, test, vi } from "vitest"

import { createChatTemplate } from "../chat-template.ts"
import type { TokenIds } from "../token-ids.ts"
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts"
import { ConversationRecord } from "./conversation-record.ts"
import { TurnTokens } from "./turn-tokens.ts"

const vectors = new URL("../../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const tokenizer = await loadTokenizer(`${vectors}mini`)
const end = tokenizer.eosTokenId ?? 0

test("a turn encodes and decodes its new texts only, however long the history", () => {
  const record = new ConversationRecord<null>({
    template: createChatTemplate(tokenizer),
    tokens: new TurnTokens(tokenizer),
  })
  const messages: { role: string; content: string }[] = []
  const sampled = [...tokenizer.encode("It is 42."), end]
  const encode = vi.spyOn(tokenizer, "encode")
  const decode = vi.spyOn(tokenizer, "decode")
  const turns = Array.from({ length: 40 }, (_, turn) => {
    encode.mockClear()
    decode.mockClear()
    messages.push({ role: "user", content: `And then ${turn}?` })
    const prompt = record.prepareChat({ messages: structuredClone(messages), tools: null, variables: {} })
    record.add(prompt, { ids: sampled, message: { role: "assistant", content: "It is 42." }, facts: null })
    messages.push({ role: "assistant", content: "It is 42." })
    return {
      outcome: prompt.outcome,
      encoded: encode.mock.calls.map(([text]) => text),
      decoded: decode.mock.calls.map(([ids]) => [...ids]),
    }
  })
  vi.restoreAllMocks()
  for (const [turn, { outcome, encoded, decoded }] of turns.entries()) {
    // The first turn is the prompt, and the second the first that follows the closing token.
    if (turn < 2) continue
    expect(outcome).toBe("extend")
    expect(encoded).toEqual([`<|end|>\n<|start|>user\nAnd then ${turn}?<|end|>\n<|start|>assistant\n`])
    expect(decoded).toEqual(turns[1]?.decoded)
  }
})

test("records of one session's kind share what was encoded: the rollouts of a group ask the same", () => {
  const tokens = new TurnTokens(tokenizer)
  const template = createChatTemplate(tokenizer)
  const messages = [{ role: "user", content: "What is it?" }]
  const ask = (): TokenIds =>
    new ConversationRecord<null>({ template, tokens }).prepareChat({ messages, tools: null, variables: {} }).ids
  const first = ask()
  const encode = vi.spyOn(tokenizer, "encode")
  expect(ask()).toEqual(first)
  expect(encode).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})
