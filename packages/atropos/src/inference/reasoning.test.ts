import { expect, test } from "vitest"

import { applyReasoning, effortForTokens, isOfficialOpenAi, reasoningTokens } from "./reasoning.ts"

const other = { official: false, unit: "effort" } as const
const official = { official: true, unit: "effort" } as const
const body = { model: "m", max_tokens: 8, temperature: 0.3 }

test("other providers get an effort or a budget, never both, and the effort wins", () => {
  expect(applyReasoning(body, {}, other)).toEqual({ ...body, reasoning: { enabled: true } })
  expect(applyReasoning(body, { effort: "high" }, other)).toEqual({
    ...body,
    reasoning: { enabled: true, effort: "high" },
  })
  expect(applyReasoning(body, { maxTokens: 2048 }, other)).toMatchObject({
    reasoning: { enabled: true, max_tokens: 2048 },
  })
  expect(applyReasoning(body, { effort: "low", maxTokens: 2048 }, other)["reasoning"]).toEqual({
    enabled: true,
    effort: "low",
  })
})

test("a provider that only takes tokens gets the effort's", () => {
  const tokens = { official: false, unit: "tokens" } as const
  const reasoning = { effort: "medium", maxTokens: 2048 } as const
  expect(applyReasoning(body, reasoning, tokens)["reasoning"]).toEqual({ enabled: true, max_tokens: 16_000 })
  expect(reasoningTokens).toEqual({ none: 1024, minimal: 3200, low: 6400, medium: 16_000, high: 25_600, xhigh: 30_400 })
})

test("OpenAI itself gets its own words", () => {
  expect(applyReasoning(body, { effort: "high" }, official)).toEqual({
    model: "m",
    max_completion_tokens: 8,
    temperature: 1,
    reasoning_effort: "high",
  })
  expect(applyReasoning({ model: "m" }, { maxTokens: 7000 }, official)).toEqual({
    model: "m",
    temperature: 1,
    reasoning_effort: "low",
  })
})

test("a budget buys the highest effort that it covers", () => {
  expect([1024, 6399, 6400, 16_000, 29_999, 32_000].map(effortForTokens)).toEqual([
    "minimal",
    "minimal",
    "low",
    "medium",
    "high",
    "xhigh",
  ])
})

test("OpenAI is known by its host, not by a part of an address", () => {
  expect(isOfficialOpenAi("https://api.openai.com/v1")).toBe(true)
  expect(isOfficialOpenAi("https://api.openai.com.example.org/v1")).toBe(false)
  expect(isOfficialOpenAi("http://localhost:8000/api.openai.com/v1")).toBe(false)
})
