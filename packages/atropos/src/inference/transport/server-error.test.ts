import { expect, test } from "vitest"

import { errorInBody, errorOfResponse } from "./server-error.ts"

const of = (status: number, body: unknown, headers: Record<string, string> = {}) =>
  errorOfResponse("S", status, typeof body === "string" ? body : JSON.stringify(body), headers)

test.each([
  [{ error: { message: "m", type: "t", code: 400 } }],
  [{ error: "m" }],
  [{ object: "error", message: "m", code: 400 }],
  [{ detail: "m" }],
  [{ success: false, message: "m" }],
  ["m"],
  ["<html><body>m</body></html>"],
])("finds the server's words in %j", (body) => {
  expect(of(400, body).message).toBe("S answered 400: m")
})

test("says where a field is wrong, and where a provider has the rest of it", () => {
  const detail = [{ loc: ["body", "n"], msg: "too small", input: "secret prompt" }]
  expect(of(422, { detail }).message).toBe("S answered 422: body.n: too small")
  const upstream = { error: { code: 429, message: "Provider returned error", metadata: { raw: "busy" } } }
  expect(of(429, upstream).message).toBe("S answered 429: Provider returned error (busy)")
})

test("keeps source paths and whole prompts out", () => {
  const { message } = of(400, { object: "error", message: 'bad field\n\n  File "/srv/http_server.py", line 9' })
  expect(message).toBe("S answered 400: bad field")
  expect(of(400, { error: { message: "x".repeat(100_000) } }).message.length).toBeLessThan(2100)
})

test.each([
  [{ "retry-after": "3" }, 3000],
  [{ "retry-after": "0.5" }, 500],
  [{ "retry-after-ms": "250", "retry-after": "9" }, 250],
  [{ "retry-after": new Date(Date.now() + 60_000).toUTCString() }, 60_000],
  [{ "retry-after": "soon" }, undefined],
  [{}, undefined],
])("reads %o as a wait", (headers, wait) => {
  const asked = of(429, "", headers as Record<string, string>).facts["retryAfterMs"]
  if (wait === undefined) expect(asked).toBeUndefined()
  else expect(Math.abs(Number(asked) - wait)).toBeLessThan(2000)
})

test("knows errors inside good answers, and answers that only have the field", () => {
  expect(errorInBody("S", { error: null, output: [] })).toBeUndefined()
  expect(errorInBody("S", { choices: [] })).toBeUndefined()
  expect(errorInBody("S", [1])).toBeUndefined()
  expect(errorInBody("S", { error: { code: 502, message: "m" } })).toMatchObject({
    retryable: true,
    facts: { status: 502 },
  })
  expect(errorInBody("S", { error: { code: 400, message: "m" } })).toMatchObject({ retryable: false })
  expect(errorInBody("S", { error: { code: "server_error", message: "m" } })).toMatchObject({ retryable: true })
  expect(errorInBody("S", { error: { code: 500, message: "m", retryable: false } })).toMatchObject({ retryable: false })
})
