import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { loadTokenizer, type Tokenizer } from "atropos-rl"
import type { FastifyInstance } from "fastify"
import { afterAll, beforeAll, describe, expect, test } from "vitest"

import { referenceLogprobs } from "../../../test/reference-model.ts"
import { encodeWeights } from "../safetensors.ts"
import type { Policy } from "../policy.ts"
import { createSampler } from "../sampler.ts"
import { vocabularySize, writeTokenizer } from "../vocabulary.ts"
import { drawWeights } from "../weights.ts"
import { createPolicyServer } from "./policy-server.ts"

const characters = "0123456789 ab"
const config = { vocabularySize: vocabularySize(characters), width: 16, heads: 2, layers: 1, contextLength: 24 }
const user = 4
const assistant = 5
const end = 2

let directory: string
let policy: Policy
let tokenizer: Tokenizer
let server: FastifyInstance

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "policy-"))
  await writeTokenizer(directory, characters)
  tokenizer = await loadTokenizer(directory)
  policy = await createSampler({ weights: drawWeights(config, 1), maxRows: 8 })
  server = createPolicyServer({ policy, tokenizer, newId: () => "id", now: () => 1_700_000_000_000 })
})

afterAll(async () => {
  await server.close()
  await policy.close()
  await rm(directory, { recursive: true })
})

interface Choice {
  index: number
  text: string
  finish_reason: string
  stop_reason: unknown
  token_ids: number[]
  prompt_token_ids: number[]
  weight_versions: { version: string; start: number; end: number }[]
  logprobs: {
    tokens: string[]
    token_logprobs: number[]
    top_logprobs: Record<string, number>[]
    text_offset: number[]
  }
}

async function complete(body: object): Promise<{ status: number; choices: Choice[]; error: unknown; usage: unknown }> {
  const response = await server.inject({ method: "POST", url: "/v1/completions", payload: body })
  return { status: response.statusCode, ...response.json<{ choices: Choice[]; error: unknown; usage: unknown }>() }
}

const asked = { prompt: [user, 7, 8, 9, assistant], max_tokens: 6, temperature: 1, seed: 4 }

describe("/v1/completions", () => {
  test("answers as vLLM does: ids, logprobs of the sampled tokens, weight versions", async () => {
    const response = await server.inject({
      method: "POST",
      url: "/v1/completions",
      payload: { ...asked, model: "policy", logprobs: 0, return_token_ids: true, return_weight_versions: true },
    })
    const body = response.json<{ choices: Choice[] }>()
    const [choice] = body.choices
    expect(body).toMatchObject({
      id: "cmpl-id",
      object: "text_completion",
      created: 1_700_000_000,
      model: "policy",
      usage: { prompt_tokens: 5, completion_tokens: choice!.token_ids.length },
    })
    expect(choice).toMatchObject({
      index: 0,
      finish_reason: "length",
      stop_reason: null,
      prompt_token_ids: asked.prompt,
      weight_versions: [{ version: "0", start: 0, end: 6 }],
    })
    expect(choice!.token_ids).toHaveLength(6)
    expect(choice!.logprobs.token_logprobs).toHaveLength(6)
    expect(choice!.logprobs.tokens.join("")).toBe(tokenizer.decode(choice!.token_ids))
    expect(choice!.logprobs.top_logprobs.map((one) => Object.keys(one).length)).toEqual([1, 1, 1, 1, 1, 1])
  })

  test("leaves out what was not asked for", async () => {
    const { choices } = await complete(asked)
    expect(choices[0]).toMatchObject({ token_ids: null, prompt_token_ids: null, logprobs: null, weight_versions: null })
  })

  test("numbers the answers of several prompts prompt by prompt", async () => {
    const prompts = [asked.prompt, [user, 6, assistant]]
    const { choices } = await complete({ ...asked, prompt: prompts, n: 2, return_token_ids: true })
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2, 3])
    expect(choices.map((choice) => choice.prompt_token_ids)).toEqual([prompts[0], prompts[0], prompts[1], prompts[1]])
  })

  test("takes text prompts, special tokens in them included", async () => {
    const { choices } = await complete({ ...asked, prompt: "<|user|>123<|assistant|>", return_token_ids: true })
    expect(choices[0]!.prompt_token_ids).toEqual(asked.prompt)
  })

  test("keeps the end token in ids and logprobs but not in the text", async () => {
    const only = { ...asked, max_tokens: 20, n: 40, logprobs: 0, return_token_ids: true }
    const { choices } = await complete(only)
    const stopped = choices.find((choice) => choice.finish_reason === "stop")!
    expect(stopped.token_ids.at(-1)).toBe(end)
    expect(stopped.stop_reason).toBeNull()
    expect(stopped.logprobs.tokens.at(-1)).toBe("<|end|>")
    expect(stopped.text).not.toContain("<|end|>")
    const { choices: endless } = await complete({ ...only, ignore_eos: true, max_tokens: 3 })
    expect(endless.every((choice) => choice.finish_reason === "length")).toBe(true)
  })

  test("cuts the text at a stop text and says which, and keeps all ids", async () => {
    const { choices } = await complete({ ...asked, max_tokens: 18, n: 30, stop: ["1", "a"], return_token_ids: true })
    const stopped = choices.find((choice) => choice.stop_reason === "a")!
    expect(stopped).toMatchObject({ finish_reason: "stop" })
    expect(stopped.text).not.toContain("a")
    expect(tokenizer.decode(stopped.token_ids).endsWith("a")).toBe(true)
  })

  test("names tokens by id on request", async () => {
    const { choices } = await complete({
      ...asked,
      logprobs: 2,
      return_token_ids: true,
      return_tokens_as_token_ids: true,
    })
    expect(choices[0]!.logprobs.tokens).toEqual(choices[0]!.token_ids.map((id) => `token_id:${id}`))
    for (const one of choices[0]!.logprobs.top_logprobs) expect(Object.keys(one).length).toBeGreaterThanOrEqual(2)
  })

  test("scores the prompt on request: logprob and rank of each token, and of the likeliest in its place", async () => {
    const response = await server.inject({
      method: "POST",
      url: "/v1/completions",
      payload: { ...asked, max_tokens: 1, prompt_logprobs: 2 },
    })
    const [choice] = response.json<{
      choices: {
        prompt_logprobs: (Record<string, { logprob: number; rank: number; decoded_token: string }> | null)[]
      }[]
    }>().choices
    const fresh = referenceLogprobs(policy.weights, asked.prompt)
    expect(choice!.prompt_logprobs).toHaveLength(5)
    expect(choice!.prompt_logprobs[0]).toBeNull()
    for (const [index, told] of choice!.prompt_logprobs.slice(1).entries()) {
      const best = [...fresh[index]!.keys()].toSorted((a, b) => fresh[index]![b]! - fresh[index]![a]!)
      const token = asked.prompt[index + 1]!
      expect(new Set(Object.keys(told!).map(Number))).toEqual(new Set([token, ...best.slice(0, 2)]))
      expect(told![token]).toMatchObject({ rank: best.indexOf(token) + 1, decoded_token: tokenizer.decode([token]) })
      expect(told![token]!.logprob).toBeCloseTo(fresh[index]![token]!, 4)
    }
  })

  test("streams when asked", async () => {
    const payload = { ...asked, stream: true, n: 2, stream_options: { include_usage: true }, return_token_ids: true }
    const response = await server.inject({ method: "POST", url: "/v1/completions", payload })
    expect(response.headers["content-type"]).toContain("text/event-stream")
    const lines = response.body.split("\n\n").filter((line) => line !== "")
    expect(lines.at(-1)).toBe("data: [DONE]")
    const chunks = lines.slice(0, -1).map((line) => JSON.parse(line.slice(6)) as { choices: Choice[]; usage?: object })
    expect(chunks.map(({ choices }) => choices.map(({ index }) => index))).toEqual([[0], [1], []])
    expect(chunks[2]!.usage).toMatchObject({ prompt_tokens: 5 })
  })
})

describe("refusals have vLLM's shape", () => {
  test.each([
    ["max_tokens 0", { max_tokens: 0 }, 400, "BadRequestError", "max_tokens", "max_tokens must be at least 1, got 0."],
    ["n 0", { n: 0 }, 400, "BadRequestError", "n", "n must be at least 1, got 0."],
    ["a temperature below 0", { temperature: -1 }, 400, "BadRequestError", "temperature", "must be non-negative"],
    ["logprobs over the limit", { logprobs: 21 }, 400, "BadRequestError", "logprobs", "greater than max allowed: 20"],
    ["no prompt", { prompt: [] }, 400, "BadRequestError", "prompt", "at least one prompt"],
    ["a foreign token id", { prompt: [99] }, 400, "BadRequestError", null, "Token id 99 is out of vocabulary"],
    [
      "a prompt that fills the context",
      { prompt: Array(24).fill(7) },
      400,
      "BadRequestError",
      "input_tokens",
      "24 tokens",
    ],
    ["another model", { model: "nope" }, 404, "NotFoundError", "model", "The model `nope` does not exist."],
    ["a wrong type", { max_tokens: "many" }, 400, "Bad Request", "body.max_tokens", "body.max_tokens"],
    ["what it does not do", { logit_bias: { 3: 1 } }, 400, "BadRequestError", "logit_bias", "does not support"],
  ])("%s", async (_name, fields, code, type, param, words) => {
    const { status, error } = await complete({ ...asked, ...fields })
    expect(status).toBe(code)
    expect(error).toMatchObject({ type, param, code })
    expect((error as { message: string }).message).toContain(words)
  })

  test("broken JSON, another content type, unknown paths and methods", async () => {
    const post = (payload: string, contentType: string): Promise<{ statusCode: number; body: string }> =>
      server.inject({ method: "POST", url: "/v1/completions", payload, headers: { "content-type": contentType } })
    expect((await post('{"model": ', "application/json")).statusCode).toBe(400)
    expect((await post("{}", "text/plain")).body).toContain("Unsupported Media Type")
    const missing = await server.inject({ method: "GET", url: "/v1/nothing" })
    expect([missing.statusCode, missing.json()]).toEqual([404, { detail: "Not Found" }])
    const method = await server.inject({ method: "GET", url: "/v1/completions" })
    expect([method.statusCode, method.json()]).toEqual([405, { detail: "Method Not Allowed" }])
  })
})

test("says that it lives, who it is and what it holds", async () => {
  const get = async (url: string): Promise<unknown> => (await server.inject({ method: "GET", url })).json()
  expect((await server.inject({ method: "GET", url: "/health" })).statusCode).toBe(200)
  expect(await get("/v1/models")).toMatchObject({ data: [{ id: "policy", owned_by: "vllm", max_model_len: 24 }] })
  expect(await get("/version")).toMatchObject({ version: expect.any(String) })
  expect(await get("/weight_info")).toEqual({ weight_version: "0" })
})

test("turns text into ids and back", async () => {
  const post = async (url: string, payload: object): Promise<unknown> =>
    (await server.inject({ method: "POST", url, payload })).json()
  expect(await post("/tokenize", { prompt: "<|user|>12" })).toMatchObject({ count: 3, tokens: [4, 7, 8] })
  expect(await post("/detokenize", { tokens: [4, 7, 8] })).toEqual({ prompt: "<|user|>12" })
})

describe("/weights", () => {
  const put = (bytes: Uint8Array): Promise<{ statusCode: number; body: string }> =>
    server.inject({
      method: "PUT",
      url: "/weights",
      payload: Buffer.from(bytes),
      headers: { "content-type": "application/octet-stream" },
    })

  test("gives and takes them, and every answer says which version it is of", async () => {
    const newer = drawWeights(config, 2)
    expect((await put(encodeWeights({ weights: newer, version: 9 }))).body).toBe('{"version":9}')
    const response = await server.inject({ method: "GET", url: "/weights" })
    expect(new Uint8Array(response.rawPayload)).toEqual(encodeWeights({ weights: newer, version: 9 }))
    const { choices } = await complete({ ...asked, return_weight_versions: true })
    expect(choices[0]!.weight_versions).toEqual([{ version: "9", start: 0, end: 6 }])
  })

  test("keeps the old ones when the new are of another shape", async () => {
    const other = drawWeights({ ...config, width: 8 }, 1)
    const refused = await put(encodeWeights({ weights: other, version: 10 }))
    expect(refused.statusCode).toBe(400)
    expect(refused.body).toContain("tensor embedding must be F32 [19,16], received F32 [19,8]")
    expect((await server.inject({ method: "GET", url: "/weight_info" })).json()).toEqual({ weight_version: "9" })
  })
})
