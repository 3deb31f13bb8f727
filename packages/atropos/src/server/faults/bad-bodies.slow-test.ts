import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { createMemoryStore } from "../stores/memory-store.ts"
import { createTrajectoryServer, type TrajectoryServer } from "../trajectory-server.ts"

let server: TrajectoryServer
let address: string

beforeAll(async () => {
  server = createTrajectoryServer({ store: createMemoryStore(), limits: { maxInflated: 64e6 } })
  address = await server.listen({ host: "127.0.0.1", port: 0 })
})
afterAll(() => server.close())

function push(body: Uint8Array, path = "/scored_data"): Promise<Response> {
  const headers = { "content-type": "application/json", "content-encoding": "gzip" }
  return fetch(address + path, { method: "POST", headers, body: new Uint8Array(body) })
}

async function queuedGroups(): Promise<unknown> {
  const response = await fetch(`${address}/metrics`)
  return Number(/^atropos_queue_groups (\d+)$/m.exec(await response.text())?.[1])
}

describe("a gzip body", () => {
  const text = JSON.stringify({
    tokens: [Array.from({ length: 12_000 }, (_, at) => (at * 7919) % 128_000)],
    masks: [Array.from({ length: 12_000 }, () => -100)],
    scores: [0.5],
  })

  test("that is cut anywhere is a 400 and leaves nothing behind", async () => {
    const small = gzipSync('{"tokens":[[1,2]],"masks":[[1,2]],"scores":[1.0]}')
    const large = gzipSync(text)
    const cuts = [
      ...Array.from({ length: small.length - 1 }, (_, at) => small.subarray(0, at + 1)),
      ...Array.from({ length: 40 }, (_, at) => large.subarray(0, Math.floor((large.length * at) / 40) + 1)),
      ...Array.from({ length: 9 }, (_, at) => large.subarray(0, large.length - 1 - at)),
    ]
    for (const body of cuts) {
      const response = await push(body)
      expect({ status: response.status, text: await response.text() }).toEqual({
        status: 400,
        text: "Invalid gzip payload",
      })
    }
    expect(await queuedGroups()).toBe(0)
    expect((await push(large)).status).toBe(200)
  })

  test("whose bytes are damaged is never a 500, and never another group than was sent", async () => {
    const before = await queuedGroups()
    const body = gzipSync(text)
    const statuses = new Set<number>()
    for (let at = 0; at < 200; at += 1) {
      const damaged = Buffer.from(body)
      const place = Math.floor((at * body.length) / 200)
      damaged[place] = damaged[place]! ^ (1 << (at % 8))
      statuses.add((await push(damaged)).status)
    }
    // Some bytes of the header mean nothing: the time, the system.
    expect([...statuses].filter((status) => status !== 400 && status !== 200)).toEqual([])
    const latest = (await (await fetch(`${address}/latest_example`)).json()) as { tokens: number[][] }
    expect(latest.tokens).toEqual((JSON.parse(text) as { tokens: number[][] }).tokens)
    expect(await queuedGroups()).toBeGreaterThanOrEqual(Number(before))
  })
})

test("bombs are refused with the bound and its flag, while polls are answered", async () => {
  const bomb = gzipSync(Buffer.alloc(500e6), { level: 9 })
  const members = Buffer.concat(Array.from({ length: 20 }, () => gzipSync(Buffer.alloc(5e6))))
  const before = process.memoryUsage().rss
  const pushes = [bomb, members, bomb, members].map((body) => push(body))
  let longest = 0
  let refusing = true
  const poll = async (): Promise<void> => {
    while (refusing) {
      const start = performance.now()
      await fetch(`${address}/status`)
      longest = Math.max(longest, performance.now() - start)
    }
  }
  const polled = poll()
  for (const response of await Promise.all(pushes)) {
    expect(response.status).toBe(413)
    expect(await response.json()).toEqual({ detail: expect.stringMatching(/64000000 bytes.*--max-inflated/) as string })
  }
  refusing = false
  await polled
  expect(longest).toBeLessThan(500)
  expect(process.memoryUsage().rss - before).toBeLessThan(400e6)
})
