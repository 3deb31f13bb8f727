import { afterEach, expect, test } from "vitest"

import type { CompletionDelta } from "../inference-server.ts"
import { createModelStub, type ModelStub, type ModelStubOptions } from "../stub/model-stub.ts"
import { OpenAiCompatibleServer } from "./openai-compatible.ts"
import type { ServerOptions } from "./server-config.ts"

let stub: ModelStub | undefined
let server: OpenAiCompatibleServer | undefined
afterEach(async () => {
  await server?.close()
  await stub?.close()
})

async function start(
  stubOptions: ModelStubOptions = {},
  options: Partial<ServerOptions> = {},
): Promise<{ stub: ModelStub; server: OpenAiCompatibleServer }> {
  stub = await createModelStub({ dialect: "openai", ...stubOptions })
  server = new OpenAiCompatibleServer({ baseUrl: stub.baseUrl, model: "m", timeoutMs: 5_000, ...options })
  return { stub, server }
}

const messages = [{ role: "user", content: "Hi" }]

test("a chat has text and usage, with logprobs by text when asked for", async () => {
  const { stub, server } = await start()
  stub.script("The answer is 4")
  const answer = await server.chat({ messages, logprobs: true, sampling: { topLogprobs: 2 } })
  const [choice] = answer.choices
  expect(choice).toMatchObject({ text: "The answer is 4", finishReason: "stop" })
  expect(choice?.tokenIds).toBeUndefined()
  expect(choice?.textLogprobs?.map(({ token }) => token).join("")).toBe("The answer is 4")
  expect(choice?.textLogprobs?.[0]?.top).toHaveLength(2)
  expect(answer.usage.completionTokens).toBe(choice!.textLogprobs!.length + 1)
})

test("streams text as it comes", async () => {
  const { stub, server } = await start()
  stub.script("one two three")
  const pieces: CompletionDelta[] = []
  const answer = await server.chat({ messages }, { onDelta: (delta) => pieces.push(delta) })
  expect(answer.choices[0]?.text).toBe("one two three")
  expect(pieces.map(({ text = "" }) => text).join("")).toBe("one two three")
  expect(pieces.length).toBeGreaterThan(2)
  expect(answer.usage.promptTokens).toBeGreaterThan(0)
})

test("names what every provider knows on training requests, and only what was given on others", async () => {
  const { stub, server } = await start()
  await server.chat({ messages })
  expect(stub.requests.at(-1)?.body).toEqual({ model: "m", messages, temperature: 1, top_p: 1 })
  await server.chat({ messages, sampling: { maxTokens: 5 } }, { split: "eval" })
  expect(stub.requests.at(-1)?.body).toEqual({ model: "m", messages, max_tokens: 5 })
})

test("asks for reasoning in chats that do not skip it, and never in completions", async () => {
  const { stub, server } = await start({}, { reasoning: { effort: "low" } })
  await server.chat({ messages })
  expect(stub.requests.at(-1)?.body["reasoning"]).toEqual({ enabled: true, effort: "low" })
  await server.chat({ messages, skipReasoning: true })
  expect(stub.requests.at(-1)?.body).not.toHaveProperty("reasoning")
  await server.complete("x", { maxTokens: 3 })
  expect(stub.requests.at(-1)?.body).not.toHaveProperty("reasoning")
})

test("has no token ids, and says where they are to be had", async () => {
  const { server } = await start()
  const failure = { code: "inference-unsupported", retryable: false }
  await expect(server.completeTokens([1], { maxTokens: 1 })).rejects.toMatchObject(failure)
  await expect(server.promptLogprobs()).rejects.toThrow(/exact tokens need vLLM, SGLang or TRL/)
})

test("of a server that has token ids says what to configure", async () => {
  const { server } = await start({ dialect: "sglang" })
  await expect(server.completeTokens([1], { maxTokens: 1 })).rejects.toThrow(/set server_type to sglang/)
})

test("a provider without a list of models is alive", async () => {
  const { server } = await start({ dialect: "openrouter" }, {})
  await server.health()
  const { stub } = await start({ dialect: "trl" })
  const other = new OpenAiCompatibleServer({ baseUrl: `${stub.url}/v1`, model: "m" })
  await other.health()
  await other.close()
})
