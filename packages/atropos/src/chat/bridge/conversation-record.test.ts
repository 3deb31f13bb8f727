import { expect, test, vi } from "vitest"

import { createChatTemplate } from "../chat-template.ts"
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
  const turns = Array.from({ length: 40 }, () => {
    encode.mockClear()
    decode.mockClear()
    messages.push({ role: "user", content: "And then?" })
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
  expect(turns[1]?.outcome).toBe("extend")
  // What the template adds, and the token that it follows.
  expect(new Set(turns[1]?.encoded)).toEqual(
    new Set(["<|end|>\n<|start|>user\nAnd then?<|end|>\n<|start|>assistant\n", "<|end|>"]),
  )
  for (const turn of turns.slice(2)) expect(turn).toEqual(turns[1])
})
