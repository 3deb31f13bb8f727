import { describe, expect, test } from "vitest"

import { createChatTemplate } from "./chat-template.ts"
import { KeptMessages } from "./kept-messages.ts"
import { loadTokenizer } from "./tokenizers/load-tokenizer.ts"

const vectors = new URL("../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const tokenizer = await loadTokenizer(`${vectors}mini`)
const call = (args: string) => ({
  role: "assistant",
  content: "",
  tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: args } }],
})

describe("a chat template", () => {
  test("opens the assistant's turn unless told otherwise", () => {
    const template = createChatTemplate(tokenizer)
    const messages = [{ role: "user", content: "hi" }]
    expect(template.render({ messages })).toBe("<|start|>user\nhi<|end|>\n<|start|>assistant\n")
    expect(template.render({ messages, addGenerationPrompt: false })).toBe("<|start|>user\nhi<|end|>\n")
  })

  test("ends where a message that is to go on ends", () => {
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: "Hello, " },
    ]
    expect(createChatTemplate(tokenizer).render({ messages, continueFinalMessage: true })).toBe(
      "<|start|>user\nhi<|end|>\n<|start|>assistant\nHello, ",
    )
    const trimming = createChatTemplate(tokenizer, {
      template: "{% for m in messages %}[{{ m.content | trim }}]{% endfor %}",
    })
    expect(trimming.render({ messages, continueFinalMessage: true })).toBe("[hi][Hello,")
  })

  test("goes on with a message that the template prints as Python shows it, or that looks for transformers' mark", () => {
    const messages = [{ role: "assistant", content: [{ type: "text", text: "Hello, " }] }]
    const printing = createChatTemplate(tokenizer, { template: "{{ messages[0].content }}" })
    expect(printing.render({ messages, continueFinalMessage: true })).toBe("[{'type': 'text', 'text': 'Hello, ")
    const looking = createChatTemplate(tokenizer, {
      template:
        "{% set mark = 'CONTINUE_FINAL_MESSAGE_TAG ' %}{% set text = messages[0].content %}" +
        "{{ text[:-(mark | length)] ~ '<call>' ~ mark if text.endswith(mark) else text }}",
    })
    const text = [{ role: "assistant", content: "Hello" }]
    expect(looking.render({ messages: text, continueFinalMessage: true })).toBe("Hello<call>")
  })

  test.each([
    ["writes another text", "{{ messages[0].content | replace('a', 'b') }}", "a"],
    ["leaves the message out", "x", "a"],
    ["is given no text", "{{ messages[0].content }}", { a: 1 }],
    ["is given no content", "{{ messages[0].content }}", null],
  ])("does not go on with a final message where the template %s", (_, template, content) => {
    // Clients send anything.
    const messages = [{ role: "assistant", content: content as string }]
    const render = (): string =>
      createChatTemplate(tokenizer, { template }).render({ messages, continueFinalMessage: true })
    expect(render).toThrow(expect.objectContaining({ code: "template-refused" }))
  })

  test("reads the arguments of calls without losing numbers or the order of keys", () => {
    const messages = [call('{"b":1.0,"2":12345678901234567890,"1":null}')]
    expect(createChatTemplate(tokenizer).render({ messages, addGenerationPrompt: false })).toContain(
      '{"name": "f", "arguments": {"b": 1.0, "2": 12345678901234567890, "1": null}}',
    )
  })

  test("renders in the pieces that make up its text, and refuses what it refuses, with messages kept or not", () => {
    const template = createChatTemplate(tokenizer)
    const kept = new KeptMessages()
    const user = { role: "user", content: "hi" }
    for (const messages of [[user], [user, call('{"a":1.0}')], [user, call("{}"), user]])
      for (const addGenerationPrompt of [true, false]) {
        const request = { messages, addGenerationPrompt }
        expect(template.renderPieces?.(request, kept).join("")).toBe(template.render(request))
      }
    const unreadable = [{ role: "user", content: "hi", field: () => undefined }]
    const refused = expect.objectContaining({ code: "template-refused" })
    expect(() => template.render({ messages: unreadable })).toThrow(refused)
    expect(() => template.renderPieces?.({ messages: unreadable }, kept)).toThrow(refused)
  })

  test("gives arguments as text to a template that refuses objects", () => {
    const template = createChatTemplate(tokenizer, {
      template: "{% for m in messages %}{{ 'args: ' + m.tool_calls[0].function.arguments }}{% endfor %}",
    })
    expect(template.render({ messages: [call('{"a":1}')] })).toBe('args: {"a":1}')
  })

  test("leaves null fields out, or keeps them where the template needs them", () => {
    const messages = [{ role: "user", content: null }]
    const render = (template: string): string => createChatTemplate(tokenizer, { template }).render({ messages })
    expect(render("{{ messages[0].content is defined }}")).toBe("False")
    expect(render("{% if messages[0].content is not none %}{{ messages[0].content + '' }}{% endif %}x")).toBe("x")
  })

  test("puts a thought under both names that templates know", () => {
    const template = createChatTemplate(tokenizer, {
      template: "{{ messages[0].reasoning_content }}{{ messages[0].thinking }}",
    })
    const render = (thoughts: object): string =>
      template.render({ messages: [{ role: "assistant", content: "a", ...thoughts }] })
    expect(render({ reasoning: "why" })).toBe("whywhy")
    expect(render({ reasoning: "why", thinking: "how", reasoning_content: null })).toBe("howhow")
    const defined = createChatTemplate(tokenizer, { template: "{{ messages[0].thinking is defined }}" })
    expect(defined.render({ messages: [{ role: "assistant", content: "a", reasoning_content: "" }] })).toBe("True")
  })

  test("passes on what the template refuses", () => {
    const template = createChatTemplate(tokenizer, { template: "{{ raise_exception('no tool role') }}" })
    expect(() => template.render({ messages: [] })).toThrow(
      expect.objectContaining({ code: "template-refused", message: expect.stringContaining("no tool role") }),
    )
  })
})
