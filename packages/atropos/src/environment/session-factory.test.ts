import { expect, test } from "vitest"

import { HuggingFaceTokenizer } from "../chat/tokenizers/hugging-face-tokenizer.ts"
import { stubTokenizerFiles } from "../inference/stub/tokenizer/stub-tokenizer.ts"
import { createStubTokenizer } from "../inference/stub/tokenizer/stub-tokenizer.ts"
import type { Tokenizer } from "../chat/tokenizer.ts"
import { environmentConfig, type EnvironmentConfig } from "./config/environment-config.ts"
import { createRandom } from "./random.ts"
import { createSessionFactory } from "./session-factory.ts"
import { ScriptedPolicy } from "./testing/scripted-policy.ts"
import type { Session } from "../inference/session/session.ts"

/** A template that shows earlier answers without their thoughts, as many reasoning models' do. */
const forgetful = `{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == "assistant" and not loop.last %}{{ message.content.split("</think>")[-1] }}{% else %}{{ message.content }}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

function tokenizerWith(template: string): Tokenizer {
  const config = JSON.parse(stubTokenizerFiles["tokenizer_config.json"] ?? "{}") as object
  const files = {
    ...stubTokenizerFiles,
    "tokenizer_config.json": JSON.stringify({ ...config, chat_template: template }),
  }
  return new HuggingFaceTokenizer("another template", files)
}

function open(config: Partial<EnvironmentConfig>, answer: string, tokenizer = createStubTokenizer()): Session {
  const openSession = createSessionFactory({
    policy: new ScriptedPolicy({ tokenizer, answer: () => answer }),
    tokenizer,
    config: environmentConfig.parse(config),
    maxTokenLen: () => -1,
  })
  return openSession({ agent: "policy", split: "train", signal: new AbortController().signal, random: createRandom(1) })
}

const user = (content: string) => ({ role: "user", content })

test("history keep goes on where the template drops a thought; template begins a new sequence", async () => {
  for (const [history, sequences] of [
    ["template", 2],
    ["keep", 1],
  ] as const) {
    const session = open({ history }, "<think>hm</think>yes", tokenizerWith(forgetful))
    const { message } = await session.chat([user("one?")])
    await session.chat([user("one?"), message, user("two?")])
    expect([history, session.sequences().length]).toEqual([history, sequences])
  }
})

test("shared_answers each trains a shared answer in every sequence that holds it", async () => {
  for (const [sharedAnswers, trainedSequences] of [
    ["once", 1],
    ["each", 2],
  ] as const) {
    const session = open({ sharedAnswers }, "yes")
    const first = await session.chat([user("one?")])
    for (const next of ["two?", "three?"]) await session.chat([user("one?"), first.message, user(next)])
    const sequences = session.sequences()
    expect(sequences).toHaveLength(2)
    const trained = sequences.filter(({ answers, masks }) => {
      const span = answers.find(({ answer }) => answer === first.index)
      return span !== undefined && masks[span.start] !== -100
    })
    expect([sharedAnswers, trained.length]).toEqual([sharedAnswers, trainedSequences])
  }
})

test("plain_contents keeps control tokens that a message spells text", async () => {
  const tokenizer = createStubTokenizer()
  const end = tokenizer.tokenToId("<|im_end|>") ?? -1
  for (const [plainContents, ends] of [
    [false, 2],
    [true, 1],
  ] as const) {
    const session = open({ plainContents }, "yes", tokenizer)
    const { tokenIds } = await session.chat([user("a<|im_end|>b")])
    const [sequence] = session.sequences()
    const prompt = sequence?.tokens.slice(0, -tokenIds.length) ?? []
    expect([plainContents, prompt.filter((id) => id === end).length]).toEqual([plainContents, ends])
  }
})

test("the template for tools shows how calls are written where a model has one of its own", async () => {
  const config = JSON.parse(stubTokenizerFiles["tokenizer_config.json"] ?? "{}") as object
  const chat_template = [
    { name: "default", template: forgetful },
    { name: "tool_use", template: `{# [TOOL_CALLS] #}${forgetful}` },
  ]
  const files = { ...stubTokenizerFiles, "tokenizer_config.json": JSON.stringify({ ...config, chat_template }) }
  const answer = `[TOOL_CALLS][{"name": "add", "arguments": {}}]`
  const session = open({}, answer, new HuggingFaceTokenizer("two templates", files))
  const tools = [{ type: "function" as const, function: { name: "add", parameters: {} } }]
  const { message } = await session.chat([user("add")], { tools })
  expect(message["tool_calls"]).toMatchObject([{ function: { name: "add" } }])
})

test("tool_call_format says how calls are written", async () => {
  const tools = [{ type: "function" as const, function: { name: "add", parameters: {} } }]
  const mistral = `[TOOL_CALLS][{"name": "add", "arguments": {"a": 1}}]`
  const showsMistral = tokenizerWith(`{# [TOOL_CALLS] #}${forgetful}`)
  const hermes = `<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>`
  const calls = async (
    config: Partial<EnvironmentConfig>,
    answer: string,
    tokenizer = createStubTokenizer(),
  ): Promise<unknown> => {
    const { message } = await open(config, answer, tokenizer).chat([user("add")], { tools })
    return message["tool_calls"]
  }
  const found = [{ function: { name: "add" } }]
  expect(await calls({ toolCallFormat: "hermes" }, hermes)).toMatchObject(found)
  expect(await calls({ toolCallFormat: "mistral" }, hermes)).toBeUndefined()
  expect(await calls({ toolCallFormat: "hermes" }, hermes, showsMistral)).toMatchObject(found)
  // Without a format it is what the template shows, and hermes where that says nothing.
  expect(await calls({}, mistral, showsMistral)).toMatchObject(found)
  expect(await calls({}, hermes, showsMistral)).toBeUndefined()
  expect(await calls({}, hermes, tokenizerWith(forgetful))).toMatchObject(found)
  expect(() => open({ toolCallFormat: "hermez" }, "")).toThrow(/takes hermes, .*received "hermez"/)
})

test("the chat template is compiled once, not for every session", async () => {
  const tokenizer = createStubTokenizer()
  const openSession = createSessionFactory({
    policy: new ScriptedPolicy({ tokenizer, answer: () => "yes" }),
    tokenizer,
    config: environmentConfig.parse({}),
    maxTokenLen: () => -1,
  })
  // From here on compiling would fail.
  Object.defineProperty(tokenizer, "chatTemplate", { value: "{% broken" })
  const { signal } = new AbortController()
  const session = openSession({ agent: "policy", split: "train", signal, random: createRandom(1) })
  expect((await session.chat([user("one?")])).text).toBe("yes")
})
