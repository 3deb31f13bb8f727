import { describe, expect, test } from "vitest"

import type { ChatMessage } from "../messages.ts"
import { isEchoOf } from "./own-message.ts"

const answer = (content: string): ChatMessage => ({ role: "assistant", content })
const calling = (json: string): ChatMessage => ({
  role: "assistant",
  content: null,
  tool_calls: [{ id: "1", function: { name: "f", arguments: json } }],
})

describe("an echo", () => {
  test.each([
    ["\u001cYes\u0085", "Yes", "\u001cYes\u0085"],
    ["\uFEFFYes\u2003", "\uFEFFYes", "Yes"],
    [" \u001f\uFEFF\n", "\uFEFF", "\u001f"],
  ])("is known that Python or JavaScript trimmed: %j", (text, byPython, byJavaScript) => {
    expect(text.trim()).toBe(byJavaScript)
    for (const content of [text, byPython, byJavaScript]) expect(isEchoOf(answer(text), answer(content))).toBe(true)
    expect(isEchoOf(answer(text), answer(`${text}!`))).toBe(false)
  })

  test.each([
    ['{"a": 1, "b": [1.5, true]}', '{"b":[1.50,true],"a":1.0}', true],
    ['{"a": null}', "{}", false],
    ['{"a": {"b": null}}', '{"a": {}}', false],
    ['{"a": 12345678901234567890}', '{"a": 12345678901234567891}', false],
    ['{"a": 12345678901234567890}', '{"a":  12345678901234567890}', true],
  ])("has arguments that are equal as JSON: %s and %s", (own, echo, same) => {
    expect(isEchoOf(calling(own), calling(echo))).toBe(same)
    expect(isEchoOf(calling(echo), calling(own))).toBe(same)
  })
})
