// What the original's Python clients ask of a server, recorded: the stub must answer it in a form that they read.
import { readFileSync } from "node:fs"
import { afterAll, beforeAll, expect, test } from "vitest"

import { createModelStub, type ModelStub } from "./model-stub.ts"

interface RecordedCase {
  name: string
  requests: { call: string; body?: unknown; answer?: { status: number; body?: unknown } }[]
}

const folder = new URL("../../../../../conformance/vectors/inference-clients/", import.meta.url)

function readCases(kind: string): RecordedCase[] {
  return (JSON.parse(readFileSync(new URL(`${kind}.json`, folder), "utf8")) as { cases: RecordedCase[] }).cases
}

let stub: ModelStub
beforeAll(async () => {
  // Theirs has no limits that matter here; and answers as long as asked for tell stop from length.
  stub = await createModelStub({ seed: 1 })
})
afterAll(() => stub.close())

/** Cases in which the recorded server answers something that no server should, to see what the client does. */
const odd = /^(answer-|minimal-|.*-always-|n-ignored)/

/** How an answer ended decides which of these is there; and TRL's client does not look at logprobs. */
function isUnread(kind: string, place: string): boolean {
  return /finish_reason\.(matched|length)$/.test(place) || (kind === "trl" && place.startsWith(".logprobs"))
}

const asked = ["openai", "vllm", "sglang", "trl"].flatMap((kind) =>
  readCases(kind)
    .filter(({ name }) => !odd.test(name))
    .flatMap(({ name, requests }) =>
      requests
        .filter(({ answer }) => answer?.status === 200)
        .map((request, index) => ({ title: `${kind} ${name} ${index}`, kind, ...request })),
    ),
)

test.each(asked)("answers $title", async ({ kind, call, body, answer }) => {
  const [method = "GET", path = "/"] = call.split(" ")
  const response = await fetch(stub.url + path, {
    method,
    ...(body === undefined || method === "GET"
      ? {}
      : { body: JSON.stringify(body), headers: { "content-type": "application/json" } }),
  })
  expect(response.status).toBe(200)
  const text = await response.text()
  // Of a health route the client reads the status alone.
  if (method === "POST" && answer?.body !== undefined) {
    expect(missingIn(answer.body, JSON.parse(text), "").filter((place) => !isUnread(kind, place))).toEqual([])
  }
})

/** Places of the recorded answer that ours lacks or has as another kind of value. Lists are compared by their first. */
function missingIn(recorded: unknown, ours: unknown, place: string): string[] {
  if (Array.isArray(recorded)) {
    if (!Array.isArray(ours)) return [place]
    if (recorded.length === 0 || ours.length === 0) return []
    return missingIn(
      recorded.find((entry) => entry !== null) ?? null,
      ours.find((entry) => entry !== null) ?? null,
      `${place}[]`,
    )
  }
  if (typeof recorded === "object" && recorded !== null) {
    if (typeof ours !== "object" || ours === null) return [place]
    const entries = Object.entries(recorded)
    // An object of token ids: any key will do.
    if (entries.every(([key]) => /^\d+$/.test(key))) {
      return Object.keys(ours).every((key) => /^\d+$/.test(key)) ? [] : [place]
    }
    return entries.flatMap(([key, value]) => {
      const inner = `${place}.${key}`
      return key in ours ? missingIn(value, (ours as Record<string, unknown>)[key], inner) : [inner]
    })
  }
  return recorded === null || typeof recorded === typeof ours ? [] : [place]
}
