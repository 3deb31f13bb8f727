import { afterEach, expect, test } from "vitest"

import { createModelStub, type ModelStub } from "../stub/model-stub.ts"
import { TrlServer } from "./trl.ts"

let stub: ModelStub | undefined
let server: TrlServer | undefined
afterEach(async () => {
  await server?.close()
  await stub?.close()
})

async function start(): Promise<{ stub: ModelStub; server: TrlServer; prompt: number[] }> {
  stub = await createModelStub({ dialect: "trl" })
  server = new TrlServer({ baseUrl: stub.baseUrl, model: "m", tokenizer: stub.tokenizer, timeoutMs: 5_000 })
  return { stub, server, prompt: stub.tokenizer.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n") }
}

test("makes text and finish reasons of ids", async () => {
  const { stub, server, prompt } = await start()
  stub.script("The answer is 4", "The answer is 4")
  const whole = await server.completeTokens(prompt, { maxTokens: 40 })
  expect(whole.choices[0]).toMatchObject({ text: "The answer is 4", finishReason: "stop" })
  expect(whole.choices[0]!.logprobs).toHaveLength(whole.choices[0]!.tokenIds.length)
  const cut = await server.completeTokens(prompt, { maxTokens: 2 })
  expect(cut.choices[0]).toMatchObject({ finishReason: "length" })
  expect(cut).toMatchObject({ logprobsMode: "processed", usage: { promptTokens: prompt.length, completionTokens: 2 } })
})

test("finds the sampled id in lists sorted by probability", async () => {
  const { server, prompt } = await start()
  const sampling = { maxTokens: 20, seed: 3 }
  const plain = await server.completeTokens(prompt, sampling)
  const listed = await server.completeTokens(prompt, { ...sampling, topLogprobs: 3 })
  expect(listed.choices[0]!.logprobs).toEqual(plain.choices[0]!.logprobs)
})

test("scores a prompt", async () => {
  const { server, prompt } = await start()
  const scores = await server.promptLogprobs(prompt, 2)
  expect(scores.logprobs).toHaveLength(prompt.length)
  expect(scores.logprobs[0]).toBeNull()
  expect(scores.top.tokenIds.slice(1).every((ids) => ids.length === 2)).toBe(true)
})

test("keeps back what would kill the server", async () => {
  const { stub, server, prompt } = await start()
  const banned = server.completeTokens(prompt, { maxTokens: 2, logitBias: { 5: 1 } })
  await expect(banned).rejects.toMatchObject({ code: "inference-unsupported" })
  await expect(server.completeTokens(prompt, { maxTokens: 2, extra: { odd: 1 } })).rejects.toThrow(/cannot take odd/)
  expect(stub.requests).toEqual([])
})

test("names itself when it is asked for what it cannot do", async () => {
  const { server } = await start()
  const content = [{ type: "image_url", image_url: { url: "data:," } }]
  await expect(server.chat({ messages: [{ role: "user", content }] })).rejects.toThrow(/^TRL at http:/)
})

test("does not wait for ever on a server that hangs", async () => {
  const { stub, prompt } = await start()
  stub.fail({ kind: "hang" })
  server = new TrlServer({ baseUrl: stub.baseUrl, model: "m", tokenizer: stub.tokenizer, timeoutMs: 50 })
  const answer = server.completeTokens(prompt, { maxTokens: 2 })
  await expect(answer).rejects.toMatchObject({ code: "inference-timeout", retryable: true })
})

test("needs a tokenizer", () => {
  expect(() => new TrlServer({ baseUrl: "http://localhost:1", model: "m" })).toThrow(/tokenizer_name/)
})
