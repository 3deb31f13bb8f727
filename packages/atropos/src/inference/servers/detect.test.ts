import { afterEach, expect, test } from "vitest"

import { createModelStub, type ModelStub } from "../stub/model-stub.ts"
import { detectServerType } from "./detect.ts"

let stub: ModelStub | undefined
afterEach(() => stub?.close())

test.each([
  ["vllm", "vllm"],
  ["atropos-vllm", "vllm"],
  ["sglang", "sglang"],
  ["trl", "trl"],
  ["openai", "openai"],
  ["any", "vllm"],
] as const)("a server that speaks %s is %s", async (dialect, type) => {
  stub = await createModelStub({ dialect })
  expect(await detectServerType({ baseUrl: `${stub.url}/v1` })).toBe(type)
})

test("nothing at an address is an error", async () => {
  stub = await createModelStub()
  const { baseUrl } = stub
  await stub.close()
  await expect(detectServerType({ baseUrl })).rejects.toMatchObject({ code: "inference-network" })
})
