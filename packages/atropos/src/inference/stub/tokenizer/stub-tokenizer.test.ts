import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Tokenizer as NativeTokenizer } from "tokenizers"
import fc from "fast-check"
import { expect, test } from "vitest"

import { createChatTemplate } from "../../../chat/chat-template.ts"
import { createStubTokenizer, stubTokenizerFiles } from "./stub-tokenizer.ts"

const tokenizer = createStubTokenizer()
const template = createChatTemplate(tokenizer)

test("gives text back as it was", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 60 }), (text) => {
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text)
    }),
  )
})

test("has the ids that the reference implementation has", async () => {
  const native = NativeTokenizer.fromString(stubTokenizerFiles["tokenizer.json"])
  const texts = [
    "<|im_start|>user\nWhat is 2 + 3?<|im_end|>\n<|im_start|>assistant\nThe answer is 5.<|im_end|>\n",
    "naïve café, 日本語 und Größe: 1.234,5 €\t\r\n  indented   twice",
    '<tool_call>\n{"name": "search", "arguments": {"query": "it\'s"}}\n</tool_call>',
  ]
  for (const text of texts) {
    // oxlint-disable-next-line no-await-in-loop
    expect(tokenizer.encode(text)).toEqual((await native.encode(text)).getIds())
  }
})

test("knows its turns' marks", () => {
  expect(tokenizer.eosToken).toBe("<|im_end|>")
  expect(tokenizer.encode("<|im_start|>a<|im_end|>")).toHaveLength(3)
  expect(tokenizer.vocabularySize).toBeGreaterThan(500)
})

test("writes turns, functions, calls and what tools say", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: [{ type: "text", text: "Look at " }, { type: "image_url" }] },
    {
      role: "assistant",
      content: "Wait.",
      tool_calls: [{ id: "c", type: "function", function: { name: "search", arguments: '{"q": 1.0}' } }],
    },
    { role: "tool", tool_call_id: "c", content: "nothing" },
  ]
  const tools = [{ type: "function", function: { name: "search" } }]
  expect(template.render({ messages, tools })).toBe(
    [
      "<|im_start|>system\nBe brief.\n\nFunctions you may call:",
      '{"type": "function", "function": {"name": "search"}}',
      'To call one, write <tool_call>{"name": its name, "arguments": its arguments}</tool_call>.<|im_end|>',
      "<|im_start|>user\nLook at [image_url]<|im_end|>",
      '<|im_start|>assistant\nWait.\n<tool_call>\n{"name": "search", "arguments": {"q": 1.0}}\n</tool_call><|im_end|>',
      "<|im_start|>tool\nnothing<|im_end|>",
      "<|im_start|>assistant\n",
    ].join("\n"),
  )
  expect(template.render({ messages: messages.slice(0, 1), addGenerationPrompt: false })).toBe(
    "<|im_start|>system\nBe brief.<|im_end|>\n",
  )
})

test("is what its script writes", () => {
  const script = fileURLToPath(new URL("../../../../../../scripts/generate-stub-tokenizer.ts", import.meta.url))
  const { status, stderr } = spawnSync(process.execPath, [script, "--check"], { encoding: "utf8" })
  expect(stderr).toBe("")
  expect(status).toBe(0)
})
