import { describe, expect, test } from "vitest"

import { createChatTemplate } from "../../chat/chat-template.ts"
import { loadTokenizer } from "../../chat/tokenizers/load-tokenizer.ts"
import type { InferenceMessage } from "../inference-server.ts"
import { openScriptedSession, type ScriptedSample } from "./session-fixture.ts"

const vectors = new URL("../../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const tokenizer = await loadTokenizer(`${vectors}mini`)
const end = tokenizer.tokenToId("<|end|>") ?? 0
const sampleOf = (text: string): ScriptedSample => ({ ids: [...tokenizer.encode(text), end] })
const user = (content: string) => ({ role: "user", content })

/** Lists tools first, and leaves thoughts of earlier turns out. */
const template = createChatTemplate(tokenizer, {
  template: `{{- (tools or []) | tojson -}}
{%- for message in messages -%}
    {{- "<|start|>" + message.role + "\\n" -}}
    {%- if message.role == "assistant" -%}{{- message.content.split("</think>")[-1] -}}{%- else -%}{{- message.content -}}{%- endif -%}
    {{- "<|end|>\\n" -}}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- "<|start|>assistant\\n" -}}{%- endif -%}`,
})

describe("what a client does to its own objects", () => {
  test("is an edit of the message that it was handed, and does not change the record", async () => {
    const { session, outcomes } = openScriptedSession({ tokenizer }, () => [sampleOf("secret")])
    const { message, tokenIds, logprobs } = await session.chat([user("q")])
    const before = structuredClone(session.sequences())
    message.content = "changed"
    ;(tokenIds as number[]).length = 0
    ;(logprobs as number[]).fill(0)
    expect(session.sequences()).toEqual(before)
    await session.chat([user("q"), message, user("r")])
    expect(outcomes[1]).toMatchObject({ outcome: "branch", reason: "message-edited" })
    expect(outcomes[1]?.text).toContain("changed")
    expect(outcomes[1]?.text).not.toContain("secret")
  })

  test("is an edit of a message that it had sent", async () => {
    const { session, outcomes } = openScriptedSession({ tokenizer }, () => [sampleOf("a")])
    const calls = [{ id: "1", type: "function", function: { name: "f", arguments: { a: 1 } } }]
    const shot: InferenceMessage = { role: "assistant", content: "b", tool_calls: calls }
    const first = await session.chat([user("q"), shot, user("r")])
    calls[0]!.function.arguments.a = 2
    await session.chat([user("q"), shot, user("r"), first.message, user("s")])
    expect(outcomes.at(-1)).toMatchObject({ outcome: "branch", reason: "message-edited" })
  })

  test("does not reach the messages of sequences, nor ids that it had completed", async () => {
    const { session, asked } = openScriptedSession({ tokenizer }, () => [{ ids: [7, 8] }])
    const ids = [1, 2, 3]
    ids.push(...(await session.complete(ids)).tokenIds, 9)
    await session.complete(ids)
    expect(asked).toEqual([
      [1, 2, 3],
      [1, 2, 3, 7, 8, 9],
    ])
    expect(session.sequences().map(({ masks }) => masks)).toEqual([[-100, -100, -100, 7, 8, -100, 7, 8]])

    const chat = openScriptedSession({ tokenizer }, () => [sampleOf("a")])
    await chat.session.chat([user("q")])
    const [sequence] = chat.session.sequences()
    const written = sequence?.messages ?? []
    for (const message of written) message.content = "changed"
    expect(chat.session.sequences()[0]?.messages).toMatchObject([{ content: "q" }, { content: "a" }])
  })
})

describe("tools that changed", () => {
  const tool = (name: string) => ({ type: "function", function: { name, parameters: {} } })

  test.each([
    [
      "in the order of their keys",
      (tools: object[]) => tools.map((one) => Object.fromEntries(Object.entries(one).toReversed())),
    ],
    ["in the caller's own list", (tools: object[]) => (tools.push(tool("g")), tools)],
  ])(
    "%s begin a branch that says so, whatever the template did to thoughts, and history is kept",
    async (_how, change) => {
      const { session, outcomes, asked } = openScriptedSession({ tokenizer, template, history: "keep" }, () => [
        sampleOf("<think>t</think>a"),
      ])
      const tools: object[] = [tool("f")]
      const { message } = await session.chat([user("q")], { tools })
      const changed = change(tools)
      await session.chat([user("q"), message, user("r")], { tools: changed })
      expect(outcomes[1]).toMatchObject({ outcome: "branch", reason: "tools-changed" })
      expect(tokenizer.decode(asked[1] ?? [])).toContain(
        JSON.stringify(changed).replaceAll(",", ", ").replaceAll(":", ": "),
      )
    },
  )
})

describe("white space that only Python takes for it", () => {
  test("is trimmed by a template without a branch", async () => {
    const trimming = createChatTemplate(tokenizer, {
      template: `{%- for message in messages -%}{{- "<|start|>" + message.role + "\\n" + (message.content | trim) + "<|end|>\\n" -}}{%- endfor -%}{%- if add_generation_prompt -%}{{- "<|start|>assistant\\n" -}}{%- endif -%}`,
    })
    const { session, outcomes } = openScriptedSession({ tokenizer, template: trimming }, () => [
      sampleOf("\u001cYes\u0085"),
    ])
    const { message } = await session.chat([user("q")])
    await session.chat([user("q"), message, user("r")])
    expect(outcomes[1]).toMatchObject({ outcome: "extend", fidelity: "whitespace" })
  })
})

test.for([-1, 1.5, Number.NaN, 2 ** 31])(
  "a sample with %d, which is no token id, is an error, and recorded nowhere",
  async (bad) => {
    const { session } = openScriptedSession({ tokenizer }, () => [{ ids: [5, bad] }])
    const call = session.chat([user("q")])
    await expect(call).rejects.toMatchObject({
      code: "inference-answer",
      message: expect.stringContaining("position 1") as string,
    })
    expect(session.sequences()).toEqual([])
  },
)
