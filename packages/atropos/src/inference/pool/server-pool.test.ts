import { afterEach, expect, test } from "vitest"

import { openServer } from "../servers/open-server.ts"
import { createModelStub, type ModelStub } from "../stub/model-stub.ts"
import { ServerPool } from "./server-pool.ts"

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource.close()
})

async function startStub(): Promise<ModelStub> {
  const stub = await createModelStub()
  opened.push(stub)
  return stub
}

function poolOf(...stubs: readonly ModelStub[]): ServerPool {
  const pool = new ServerPool(stubs.map(({ baseUrl }) => ({ server: openServer("vllm", { baseUrl, model: "m" }) })))
  opened.push(pool)
  return pool
}

test("splits a request for more answers than a server should get at once and puts them together", async () => {
  const pool = poolOf(await startStub())
  const answer = await pool.completeTokens([1, 5, 6], { n: 20, maxTokens: 4 })
  expect(answer.choices).toHaveLength(20)
  expect(answer.usage.promptTokens).toBe(3)
  expect(answer.usage.completionTokens).toBe(answer.choices.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0))
})
