import { expect, test } from "vitest"

import { serverConfig } from "../../environment/config/server-config.ts"
import type { Logger } from "../../runtime/logger.ts"
import { allowsInexact, requireExact } from "./require-exact.ts"

const { signal } = new AbortController()
const servers = (...types: ("openai" | "vllm")[]) =>
  types.map((serverType) => serverConfig.parse({ serverType, baseUrl: "http://127.0.0.1:1/v1", modelName: "m" }))

function heard(): { logger: Logger; warnings: string[] } {
  const warnings: string[] = []
  const ignore = (): void => {}
  return { warnings, logger: { debug: ignore, info: ignore, error: ignore, warn: (text) => void warnings.push(text) } }
}

test("training on a server that tells no token ids is refused with both ways out", async () => {
  const { logger } = heard()
  await expect(requireExact(servers("vllm", "openai"), { allowed: false, logger, signal })).rejects.toThrow(
    /--openai\.server_type .*--env\.allow_inexact_tokens true/,
  )
})

test("it goes on with a warning when that is allowed, and without one where nothing is inexact", async () => {
  const { logger, warnings } = heard()
  await requireExact(servers("vllm"), { allowed: false, logger, signal })
  expect(warnings).toEqual([])
  await requireExact(servers("openai"), { allowed: true, logger, signal })
  expect(warnings).toEqual([expect.stringContaining("without logprobs")])
})

test("the field allows it, and so does the older variable", () => {
  const variable = "ATROPOS_ALLOW_DUMMY_MANAGED_SERVER"
  expect(allowsInexact({ allowInexactTokens: false }, {})).toBe(false)
  expect(allowsInexact({ allowInexactTokens: true }, {})).toBe(true)
  expect(allowsInexact({ allowInexactTokens: false }, { [variable]: "1" })).toBe(true)
  expect(allowsInexact({ allowInexactTokens: false }, { [variable]: "0" })).toBe(false)
})
