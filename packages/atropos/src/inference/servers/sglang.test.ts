import { afterEach, expect, test } from "vitest"

import type { CompletionDelta } from "../inference-server.ts"
import { createModelStub, type ModelStub, type ModelStubOptions } from "../stub/model-stub.ts"
import { SglangServer } from "./sglang.ts"
import { SglangStream } from "./sglang-stream.ts"

let stub: ModelStub | undefined
let server: SglangServer | undefined
afterEach(async () => {
  await server?.close()
  await stub?.close()
})

async function start(
  options: ModelStubOptions = {},
): Promise<{ stub: ModelStub; server: SglangServer; prompt: number[] }> {
  stub = await createModelStub({ dialect: "sglang", ...options })
  server = new SglangServer({ baseUrl: stub.baseUrl, model: "m", timeoutMs: 5_000 })
  return { stub, server, prompt: stub.tokenizer.encode("<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n") }
}

test("samples exact ids, one object or a list, in SGLang's own names", async () => {
  const { stub, server, prompt } = await start()
  const one = await server.completeTokens(prompt, { maxTokens: 8, stopTokenIds: [40] })
  expect(one.choices).toHaveLength(1)
  expect(stub.requests.at(-1)?.body).toMatchObject({
    input_ids: prompt,
    return_logprob: true,
    sampling_params: { max_new_tokens: 8, top_k: -1, temperature: 1, stop_token_ids: [40] },
  })
  const three = await server.completeTokens(prompt, { n: 3, maxTokens: 8 })
  expect(three.choices).toHaveLength(3)
  expect(three).toMatchObject({ logprobsMode: "temperature", usage: { promptTokens: prompt.length } })
  for (const { tokenIds, logprobs, versions } of three.choices) {
    expect(logprobs).toHaveLength(tokenIds.length)
    expect(versions).toEqual([{ version: 0, label: "default", start: 0, end: tokenIds.length }])
  }
})

test("streams what is new of chunks that repeat everything", async () => {
  const { server, prompt } = await start()
  const pieces: CompletionDelta[] = []
  const sampling = { n: 2, maxTokens: 25, seed: 2 }
  const streamed = await server.completeTokens(prompt, sampling, { onDelta: (delta) => pieces.push(delta) })
  expect(streamed.choices).toEqual((await server.completeTokens(prompt, sampling)).choices)
  for (const [index, choice] of streamed.choices.entries()) {
    const own = pieces.filter((piece) => piece.choice === index)
    expect(own.flatMap(({ tokenIds = [] }) => tokenIds)).toEqual(choice.tokenIds)
    expect(own.map(({ text = "" }) => text).join("")).toBe(choice.text)
  }
})

test("takes streams that send only what is new as well", () => {
  const pieces: CompletionDelta[] = []
  const stream = new SglangStream((delta) => pieces.push(delta))
  const chunk = (text: string, ids: number[], count: number, reason: unknown): unknown => ({
    text,
    output_ids: ids,
    meta_info: {
      completion_tokens: count,
      finish_reason: reason,
      output_token_logprobs: ids.map((id) => [-id / 10, id, null]),
    },
  })
  stream.add(chunk("a", [1], 1, null))
  stream.add(chunk("bc", [2, 3], 3, null))
  expect(stream.complete).toBe(false)
  stream.add(chunk("d", [4], 4, { type: "stop", matched: 4 }))
  expect(stream.complete).toBe(true)
  expect(stream.answers()[0]).toMatchObject({ text: "abcd", output_ids: [1, 2, 3, 4] })
  expect(pieces.map(({ tokenIds }) => tokenIds)).toEqual([[1], [2, 3], [4]])
})

test("scores a prompt as it was sampled", async () => {
  const { server, prompt } = await start()
  const { choices } = await server.completeTokens(prompt, { maxTokens: 9, seed: 3 })
  const scores = await server.promptLogprobs([...prompt, ...choices[0]!.tokenIds], 3)
  expect(scores.logprobs[0]).toBeNull()
  expect(scores.logprobs.slice(prompt.length)).toEqual(choices[0]!.logprobs)
  expect(scores.top.tokenIds.slice(1).every((ids) => ids.length === 3)).toBe(true)
})

test("puts further options where SGLang has them", async () => {
  const { stub, server, prompt } = await start()
  const answer = await server.completeTokens(prompt, { maxTokens: 2, extra: { regex: "a+", priority: 3 } })
  expect(stub.requests.at(-1)?.body).toMatchObject({ priority: 3, sampling_params: { regex: "a+" } })
  expect(answer.departures).toEqual(["regex"])
})

test("a chat has ids, whole even when a stream was asked for", async () => {
  const { stub, server } = await start()
  const pieces: CompletionDelta[] = []
  const request = { messages: [{ role: "user", content: "Hi" }], logprobs: true, sampling: { n: 2, maxTokens: 5 } }
  const answer = await server.chat(request, { onDelta: (delta) => pieces.push(delta) })
  expect(stub.requests.at(-1)?.body).not.toHaveProperty("stream")
  expect(answer.promptTokenIds?.length).toBeGreaterThan(0)
  expect(pieces.map(({ tokenIds }) => tokenIds)).toEqual(answer.choices.map(({ tokenIds }) => tokenIds))
  const plain = await server.chat({ ...request, logprobs: false }, { onDelta: (delta) => pieces.push(delta) })
  expect(stub.requests.at(-1)?.body).toMatchObject({ stream: true })
  expect(plain.choices).toHaveLength(2)
})

test("is alive while paused, and waits", async () => {
  const { stub, server, prompt } = await start()
  await server.call("POST", "/pause_generation", { mode: "retract" })
  await server.health()
  const answer = server.completeTokens(prompt, { maxTokens: 3 })
  await server.call("POST", "/update_weight_version", { new_version: "step-4", abort_all_requests: false })
  await server.call("POST", "/continue_generation", {})
  expect((await answer).choices[0]?.versions[0]?.version).toBe(4)
  expect(await server.policyVersion()).toBe(4)
  expect(stub.requests.some(({ path }) => path === "/health")).toBe(false)
})
