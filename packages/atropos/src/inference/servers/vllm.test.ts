import { afterEach, describe, expect, test } from "vitest"

import type { CompletionDelta } from "../inference-server.ts"
import { createModelStub, type ModelStub, type ModelStubOptions } from "../stub/model-stub.ts"
import { VllmServer } from "./vllm.ts"

let stub: ModelStub | undefined
let server: VllmServer | undefined
afterEach(async () => {
  await server?.close()
  await stub?.close()
})

async function start(
  options: ModelStubOptions = {},
): Promise<{ stub: ModelStub; server: VllmServer; prompt: number[] }> {
  stub = await createModelStub({ dialect: "vllm", ...options })
  server = new VllmServer({ baseUrl: stub.baseUrl, model: "m", tokenizer: stub.tokenizer, timeoutMs: 5_000 })
  const prompt = stub.tokenizer.encode("<|im_start|>user\nWhat is 2 + 3?<|im_end|>\n<|im_start|>assistant\n")
  return { stub, server, prompt }
}

test("samples exact ids with a logprob each from a prompt of ids, and names every sampling parameter", async () => {
  const { stub, server, prompt } = await start({ seed: 3 })
  const answer = await server.completeTokens(prompt, { n: 3, maxTokens: 40, seed: 5 })
  expect(answer.choices).toHaveLength(3)
  for (const choice of answer.choices) {
    expect(choice.logprobs).toHaveLength(choice.tokenIds.length)
    expect(choice.logprobs.every((logprob) => logprob < 0 && logprob > -30)).toBe(true)
    expect(choice.text).toBe(stub.tokenizer.decode(choice.tokenIds).replace("<|im_end|>", ""))
    expect(choice.versions).toEqual([{ version: 0, start: 0, end: choice.tokenIds.length, label: "default" }])
  }
  expect(answer).toMatchObject({ logprobsMode: "raw", departures: [] })
  expect(stub.requests.at(-1)?.body).toMatchObject({
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    max_tokens: 40,
    n: 3,
    seed: 5,
    logprobs: 0,
    return_token_ids: true,
    return_weight_versions: true,
  })
})

test("says which options part the kinds of logprobs", async () => {
  const { server, prompt } = await start()
  const sampling = { maxTokens: 4, temperature: 0.7, topP: 0.9, topK: 5, extra: { structured_outputs: { regex: "a" } } }
  const { departures } = await server.completeTokens(prompt, sampling)
  expect(departures.toSorted()).toEqual(["structured_outputs", "temperature", "top_k", "top_p"])
})

test("gives the same record streamed, piece by piece", async () => {
  const { server, prompt } = await start()
  const pieces: CompletionDelta[] = []
  const sampling = { n: 2, maxTokens: 30, seed: 1 }
  const streamed = await server.completeTokens(prompt, sampling, { onDelta: (delta) => pieces.push(delta) })
  expect(streamed).toEqual(await server.completeTokens(prompt, sampling))
  for (const [index, choice] of streamed.choices.entries()) {
    const own = pieces.filter((piece) => piece.choice === index)
    expect(own.flatMap(({ tokenIds = [] }) => tokenIds)).toEqual(choice.tokenIds)
    expect(own.flatMap(({ logprobs = [] }) => logprobs)).toEqual(choice.logprobs)
    expect(own.map(({ text = "" }) => text).join("")).toBe(choice.text)
  }
})

test("takes /inference/v1/generate where it is on, and gets the same record there", async () => {
  const { stub, server, prompt } = await start({ scaleOut: true })
  const sampling = { n: 2, maxTokens: 20, seed: 4 }
  const first = await server.completeTokens(prompt, sampling)
  expect(stub.requests.at(-1)?.path).toBe("/inference/v1/generate")
  const other = await start({ scaleOut: false })
  expect(await other.server.completeTokens(prompt, sampling)).toEqual(first)
  expect(other.stub.requests.at(-1)?.path).toBe("/v1/completions")
})

describe.each([true, false])("with scale-out %s", (scaleOut) => {
  test("reports the best alternatives by id", async () => {
    const { server, prompt } = await start({ scaleOut })
    const { choices } = await server.completeTokens(prompt, { maxTokens: 6, ignoreEos: true, topLogprobs: 3, seed: 2 })
    const [choice] = choices
    expect(choice?.text).not.toBe("")
    expect(choice?.top?.tokenIds).toHaveLength(choice!.tokenIds.length)
    for (const [at, ids] of choice!.top!.tokenIds.entries()) {
      expect(new Set(ids).size).toBeGreaterThanOrEqual(3)
      const logprobs = choice!.top!.logprobs[at]!
      expect(logprobs).toEqual(logprobs.toSorted((a, b) => b - a))
    }
  })

  test("scores a prompt, own tokens and the best", async () => {
    const { server, prompt } = await start({ scaleOut })
    const sampled = await server.completeTokens(prompt, { maxTokens: 12, seed: 8 })
    const [choice] = sampled.choices
    const scores = await server.promptLogprobs([...prompt, ...choice!.tokenIds], 4)
    expect(scores.logprobs[0]).toBeNull()
    // One model, one context: what was sampled is scored the same.
    expect(scores.logprobs.slice(prompt.length)).toEqual(choice!.logprobs)
    expect(scores.top.tokenIds[0]).toEqual([])
    expect(scores.top.tokenIds.slice(1).every((ids) => ids.length === 4)).toBe(true)
  })
})

test("reads ids of servers before return_token_ids", async () => {
  const { stub, server, prompt } = await start({ vllmVersion: "0.9.2" })
  const { choices } = await server.completeTokens(prompt, { maxTokens: 5 })
  expect(choices[0]?.tokenIds.length).toBeGreaterThan(0)
  expect(stub.requests.at(-1)?.body["return_tokens_as_token_ids"]).toBe(true)
})

test("finds the original's own server and its route", async () => {
  const { stub, server, prompt } = await start({ dialect: "atropos-vllm" })
  const { choices, usage } = await server.completeTokens(prompt, { n: 2, maxTokens: 9 })
  expect(stub.requests.at(-1)?.path).toBe("/generate")
  expect(choices.map(({ logprobs }) => logprobs.length)).toEqual(choices.map(({ tokenIds }) => tokenIds.length))
  expect(usage.promptTokens).toBe(prompt.length)
  await expect(server.promptLogprobs(prompt, 2)).rejects.toMatchObject({ code: "inference-unsupported" })
})

test("a chat with images has the ids that the server reports", async () => {
  const { server } = await start()
  const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } }
  const messages = [{ role: "user", content: [{ type: "text", text: "What is this?" }, image] }]
  const answer = await server.chat({ messages, logprobs: true, sampling: { maxTokens: 10 } })
  expect(answer.promptTokenIds?.length).toBeGreaterThan(0)
  expect(answer.choices[0]?.logprobs).toHaveLength(answer.choices[0]!.tokenIds!.length)
})

test("a chat hands on tools and gives their calls", async () => {
  const { stub, server } = await start()
  stub.script('Let me see.\n<tool_call>\n{"name": "search", "arguments": {"query": "river"}}\n</tool_call>')
  const tools = [{ type: "function", function: { name: "search", parameters: { type: "object" } } }]
  const { choices } = await server.chat({ messages: [{ role: "user", content: "Where?" }], tools })
  expect(choices[0]).toMatchObject({
    text: "Let me see.",
    finishReason: "tool_calls",
    toolCalls: [{ name: "search", arguments: '{"query": "river"}' }],
  })
})

test("a streamed chat gives the calls as it goes, and never text that is part of one", async () => {
  const { stub, server } = await start()
  const call = (query: string): string =>
    `<tool_call>\n{"name": "search", "arguments": {"query": "${query}"}}\n</tool_call>`
  stub.script(`Let me see. ${call("river")}\n${call("tree")}`)
  const tools = [{ type: "function", function: { name: "search", parameters: { type: "object" } } }]
  const pieces: CompletionDelta[] = []
  const request = { messages: [{ role: "user", content: "Where?" }], tools, logprobs: true }
  const { choices } = await server.chat(request, { onDelta: (delta) => pieces.push(delta) })
  expect(choices[0]).toMatchObject({ finishReason: "tool_calls" })
  expect(choices[0]?.text.trim()).toBe("Let me see.")
  const calls = choices[0]!.toolCalls
  expect(calls.map((found) => found.arguments)).toEqual(['{"query": "river"}', '{"query": "tree"}'])
  expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  expect(
    pieces
      .map(({ text = "" }) => text)
      .join("")
      .trim(),
  ).toBe("Let me see.")
  expect(pieces.flatMap(({ tokenIds = [] }) => tokenIds)).toEqual(choices[0]?.tokenIds)
  expect(choices[0]?.logprobs).toHaveLength(choices[0]!.tokenIds!.length)
})

test("leaves an evaluation's sampling to the model's own files unless told", async () => {
  const { stub, server } = await start()
  const request = { messages: [{ role: "user", content: "Hi" }], sampling: { temperature: 0.6 } }
  await server.chat(request, { split: "eval" })
  expect(stub.requests.at(-1)?.body).toMatchObject({ temperature: 0.6 })
  expect(stub.requests.at(-1)?.body).not.toHaveProperty("top_p")
  await server.chat(request)
  expect(stub.requests.at(-1)?.body).toMatchObject({ temperature: 0.6, top_p: 1, top_k: 0, min_p: 0 })
})

test("tells spans of versions when weights change in the middle", async () => {
  const { stub, server, prompt } = await start()
  stub.version = "step-12"
  stub.fail({ kind: "new-weights", atToken: 2, version: "step-13" })
  const { choices } = await server.completeTokens(prompt, { maxTokens: 6, ignoreEos: true })
  expect(choices[0]?.versions).toEqual([
    { version: 12, start: 0, end: 2, label: "step-12" },
    { version: 13, start: 2, end: 6, label: "step-13" },
  ])
  expect(await server.policyVersion()).toBe(13)
})

test("knows whether it is paused", async () => {
  const { stub, server, prompt } = await start()
  await server.call("POST", "/pause?mode=wait")
  expect(await server.isPaused()).toBe(true)
  await server.health()
  const refusal = { code: "inference-request", retryable: true, facts: { status: 503, paused: true } }
  await expect(server.completeTokens(prompt, { maxTokens: 2 })).rejects.toMatchObject(refusal)
  const streamed = server.completeTokens(prompt, { maxTokens: 2 }, { onDelta: () => undefined })
  await expect(streamed).rejects.toMatchObject(refusal)
  await server.call("POST", "/resume")
  expect(await server.isPaused()).toBe(false)
  expect(stub.running).toBe(0)
})

test("leaves the model to the server when none was configured", async () => {
  const { stub } = await start()
  const unnamed = new VllmServer({ baseUrl: stub.baseUrl, model: "default" })
  await unnamed.completeTokens([5], { maxTokens: 1 })
  await unnamed.close()
  expect(stub.requests.at(-1)?.body).not.toHaveProperty("model")
})

test("refuses ids outside the vocabulary before they are sent", async () => {
  const { server } = await start()
  await expect(server.completeTokens([1, 99_999], { maxTokens: 1 })).rejects.toThrow(/received the id 99999/)
  await expect(server.completeTokens([], { maxTokens: 1 })).rejects.toThrow(/received no tokens/)
})
