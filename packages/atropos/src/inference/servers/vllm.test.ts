import { afterEach, expect, test } from "vitest"

import { createModelStub, type ModelStub } from "../stub/model-stub.ts"
import { VllmServer } from "./vllm.ts"

let stub: ModelStub | undefined
let server: VllmServer | undefined
afterEach(async () => {
  await server?.close()
  await stub?.close()
})

test("samples exact ids with a logprob each from a prompt of ids", async () => {
  stub = await createModelStub({ seed: 3 })
  server = new VllmServer({ baseUrl: stub.baseUrl, model: "atropos-stub" })
  const prompt = stub.tokenizer.encode("<|im_start|>user\nWhat is 2 + 3?<|im_end|>\n<|im_start|>assistant\n")
  const answer = await server.completeTokens(prompt, { n: 3, maxTokens: 40 })
  expect(answer.choices).toHaveLength(3)
  for (const choice of answer.choices) {
    expect(choice.tokenIds.length).toBe(choice.logprobs.length)
    expect(choice.versions).toEqual([{ version: 0, start: 0, end: choice.tokenIds.length, label: "default" }])
  }
  expect(answer.departures).toEqual([])
  await server.health()
  stub.version = "step-7"
  expect(await server.policyVersion()).toBe(7)
})
