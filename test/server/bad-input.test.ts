import fc from "fast-check"
import { expect, test } from "vitest"

import { createIngest } from "../../packages/atropos/src/server/bytes/ingest.ts"
import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import { ServerUnderTest, trainer, wireGroup } from "./server-under-test.ts"

const calls = [
  { path: "/register", good: trainer },
  {
    path: "/register-env",
    good: { max_token_length: 8, desired_name: "a", weight: 1, group_size: 4, min_batch_allocation: 0.5 },
  },
  { path: "/disconnect-env", good: { env_id: 0 } },
  { path: "/status-env", good: { env_id: 0 } },
  { path: "/scored_data", good: wireGroup(1) },
  { path: "/scored_data_list", good: [wireGroup(1), wireGroup(2)] },
  { path: "/log", good: { source: "a", metrics: { x: 1 } } },
] as const

const oddValue = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.constantFrom(
    "NaN",
    "Infinity",
    "-Infinity",
    "1e999",
    '"nan"',
    '"\\ud800"',
    "9".repeat(5000),
    '"9_9"',
    "-0",
    "1.0",
    '" 5 "',
    "",
    "[",
    "{",
  ),
)

/** A good body with some members replaced, dropped, doubled or added. */
const damagedBody = fc
  .record({
    call: fc.constantFrom(...calls),
    changes: fc.array(
      fc.record({ member: fc.nat(), value: oddValue, how: fc.constantFrom("replace", "drop", "double", "add") }),
      {
        minLength: 1,
        maxLength: 3,
      },
    ),
    whole: fc.option(oddValue, { freq: 4 }),
  })
  .map(({ call, changes, whole }) => {
    if (whole !== null) return { path: call.path, raw: whole }
    const { good } = call
    const members = Object.entries(Array.isArray(good) ? (good[0] as object) : good).map(
      ([name, value]) => [name, JSON.stringify(value)] as const,
    )
    let texts = members.map(([name, value]) => `"${name}":${value}`)
    for (const { member, value, how } of changes) {
      const index = member % members.length
      const changed = `"${members[index]![0]}":${value}`
      if (how === "replace") texts[index] = changed
      else if (how === "drop") texts = texts.filter((_, other) => other !== index)
      else if (how === "double") texts.push(changed)
      else texts.push(`"extra":${value}`)
    }
    const object = `{${texts.join(",")}}`
    return { path: call.path, raw: Array.isArray(good) ? `[${object},${JSON.stringify(good[1])}]` : object }
  })

test("whatever comes in, the answer names the fault and its place, and is never a 500", async () => {
  const server = await ServerUnderTest.start()
  await server.begin()
  await server.registerEnvironment()
  await fc.assert(
    fc.asyncProperty(damagedBody, async ({ path, raw }) => {
      const { status, json } = await server.request("POST", path, { raw })
      expect([200, 400, 422]).toContain(status)
      if (status !== 422) return
      expect(json.detail.length).toBeGreaterThan(0)
      for (const fault of json.detail) {
        expect(fault).toMatchObject({ type: expect.any(String), msg: expect.any(String) })
        expect(["body", "query"]).toContain(fault.loc[0])
        expect(fault).toHaveProperty("input")
      }
    }),
    { numRuns: 600 },
  )
})

test("a push that was kept when the server died, and whose bytes come again, counts once", async () => {
  const store = createMemoryStore()
  const body = JSON.stringify(wireGroup(1))
  const limits = { inflatedBytes: 1e6, nesting: 300, sequencesPerGroup: 8 }
  const ingest = createIngest(limits)
  const prepared = await ingest.ingest({ kind: "one", body: Buffer.from(body), gzip: false, json: true })
  await ingest.close()
  if (!prepared.ok) throw new Error(prepared.refusal.body)
  const clock = { ms: 1_800_000_000_000 }
  const { segment, crc32, jsonBytes } = prepared.groups[0]!
  const group = { id: 0, environment: null, size: 4, bytes: segment.length }
  const push = { type: "push", time: clock.ms - 5000, step: 0, digest: prepared.digest, key: null, groups: [group] }
  await store.commit({ events: [JSON.stringify(push)], payloads: [{ groupId: 0, segment, crc32, jsonBytes }] })
  const server = await ServerUnderTest.start({ store, clock })
  await server.begin({ batch_size: 16 })
  expect((await server.request("POST", "/scored_data", { raw: body })).json).toEqual({ status: "received" })
  expect((await server.get("/status")).json).toMatchObject({ queue_size: 1 })
  await server.request("POST", "/scored_data", { raw: body })
  expect((await server.get("/status")).json).toMatchObject({ queue_size: 2 })
})
