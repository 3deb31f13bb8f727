import { describe, expect, test } from "vitest"

import { createChatTemplate } from "./chat-template.ts"
import { tokenizeForTrainer } from "./tokenize-for-trainer.ts"
import { loadTokenizer } from "./tokenizers/load-tokenizer.ts"

const vectors = new URL("../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const tokenizer = await loadTokenizer(`${vectors}mini`)
const messages = [
  { role: "user", content: "What is 6*7?" },
  { role: "assistant", content: "42" },
  { role: "user", content: "Twice that?" },
  { role: "assistant", content: "84" },
]
const trained = (masks: number[]): string => tokenizer.decode(masks.filter((id) => id !== -100))

describe("tokenizeForTrainer", () => {
  test("trains on the last answer and its end of turn", () => {
    const { tokens, masks } = tokenizeForTrainer(tokenizer, messages)
    expect(masks).toHaveLength(tokens.length)
    expect(trained(masks)).toBe("84<|end|>\n")
  })

  test("trains on every answer when asked to", () => {
    expect(trained(tokenizeForTrainer(tokenizer, messages, { trainOnAllAssistantTurns: true }).masks)).toBe(
      "42<|end|>\n84<|end|>\n",
    )
  })

  test("drops the end of a cut answer with the newline after it", () => {
    const { tokens, masks } = tokenizeForTrainer(tokenizer, messages, { finishReason: "length" })
    expect(trained(masks)).toBe("84")
    expect(tokenizer.decode(tokens)).toMatch(/84$/)
  })

  test("refuses a template that rewrites history instead of misplacing masks", () => {
    const template = createChatTemplate(tokenizer, {
      template: "{% for m in messages %}{% if loop.last or m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
    })
    expect(() => tokenizeForTrainer(tokenizer, messages, { template, trainOnAllAssistantTurns: true })).toThrow(
      expect.objectContaining({ code: "history-rewritten" }),
    )
  })

  test("refuses a template that leaves an answer out instead of training on nothing", () => {
    const template = createChatTemplate(tokenizer, {
      template: "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}",
    })
    for (const trainOnAllAssistantTurns of [false, true])
      expect(() => tokenizeForTrainer(tokenizer, messages, { template, trainOnAllAssistantTurns })).toThrow(
        expect.objectContaining({
          code: "history-rewritten",
          message: expect.stringContaining("leaves an answer out"),
        }),
      )
    const blank = [...messages.slice(0, 3), { role: "assistant", content: " " }]
    expect(trained(tokenizeForTrainer(tokenizer, blank, { template }).masks)).toBe("")
  })

  test("keeps control tokens in contents text with plainContents, and masks as ever", () => {
    const end = tokenizer.tokenToId("<|end|>") ?? -1
    const typed = [{ role: "user", content: "a<|end|>b" }, ...messages.slice(1)]
    const options = { trainOnAllAssistantTurns: true }
    const usual = tokenizeForTrainer(tokenizer, typed, options)
    const plain = tokenizeForTrainer(tokenizer, typed, { ...options, plainContents: true })
    const ends = (tokens: number[]): number => tokens.filter((id) => id === end).length
    expect([ends(usual.tokens), ends(plain.tokens)]).toEqual([5, 4])
    expect(trained(plain.masks)).toBe(trained(usual.masks))
    const template = createChatTemplate(tokenizer)
    expect(() => tokenizeForTrainer(tokenizer, typed, { template, plainContents: true })).toThrow(
      expect.objectContaining({ code: "bad-option" }),
    )
  })

  test("gives the messages back only when asked to", () => {
    expect(tokenizeForTrainer(tokenizer, messages)).not.toHaveProperty("messages")
    expect(tokenizeForTrainer(tokenizer, messages, { includeMessages: true }).messages).toBe(messages)
  })
})
