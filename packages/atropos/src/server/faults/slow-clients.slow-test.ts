import { setTimeout as sleep } from "node:timers/promises"
import { gunzipSync } from "node:zlib"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import { createMemoryStore } from "../stores/memory-store.ts"
import { createTrajectoryServer, type TrajectoryServer } from "../trajectory-server.ts"
import { head, RawConnection } from "./raw-connection.ts"

// These are about time: a client's pace is what is tested, so real time passes here.

const sequences = 8
const length = 40_000
const limits = { headersTimeout: 2, bodyTimeout: 2, stallTimeout: 2 }

let server: TrajectoryServer
let address: string

beforeEach(async () => {
  server = createTrajectoryServer({ store: createMemoryStore(), limits })
  address = await server.listen({ host: "127.0.0.1", port: 0 })
  await post("/register", {
    wandb_group: "g",
    wandb_project: "p",
    batch_size: 4 * sequences,
    max_token_len: length,
    checkpoint_dir: "c",
    save_checkpoint_interval: 1,
    starting_step: 0,
    num_steps: 10,
  })
})
afterEach(() => server.close({ graceMs: 100 }))

async function post(path: string, body: unknown): Promise<unknown> {
  const headers = { "content-type": "application/json" }
  const response = await fetch(address + path, { method: "POST", headers, body: JSON.stringify(body) })
  return response.json()
}

async function get(path: string): Promise<Record<string, unknown>> {
  return (await (await fetch(address + path)).json()) as Record<string, unknown>
}

async function pushGroup(first: number): Promise<unknown> {
  const tokens = Array.from({ length: sequences }, (_, row) => [
    first,
    ...Array.from({ length: length - 1 }, (_, at) => (at * 7919 + row * 31) % 128_000),
  ])
  return post("/scored_data", { tokens, masks: tokens, scores: tokens.map(() => 0.5) })
}

/** Groups of one batch; about 12 MB of JSON, 6 MB on the wire. */
async function pushBatch(first: number): Promise<void> {
  for (let group = 0; group < 4; group += 1) await pushGroup(first + group)
}

function bodyOf(answer: Buffer): Buffer {
  return answer.subarray(answer.indexOf("\r\n\r\n") + 4)
}

/** Bytes of head and body, as the head tells them. */
function wholeLength(answer: Buffer): number {
  const length = Number(/content-length: (\d+)/i.exec(answer.toString("latin1"))?.[1])
  return answer.length - bodyOf(answer).length + length
}

function firstTokens(batch: unknown): number[] {
  return (batch as { tokens: number[][] }[]).map(({ tokens }) => tokens[0]![0]!)
}

describe("a trainer that reads a batch at 1 KB a second", () => {
  test("holds nobody else up, and loses the batch to the next poll when it leaves", async () => {
    await pushBatch(100)
    await pushBatch(200)
    const slow = await RawConnection.open(address)
    slow.socket.pause()
    slow.send(head("GET", "/batch", { "accept-encoding": "gzip" }))
    const before = process.memoryUsage().rss
    let longest = 0
    for (let second = 0; second < 5; second += 1) {
      slow.socket.read(1024)
      const start = performance.now()
      await get("/status")
      longest = Math.max(longest, performance.now() - start)
      expect(await post("/scored_data", { tokens: [[second]], masks: [[second]], scores: [1] })).toEqual({
        status: "received",
      })
      await sleep(1000)
      // The stall limit is on nothing being taken at all; the kernel's buffers took megabytes at once.
      if (second === 0) expect(firstTokens((await get("/batch"))["batch"])).toEqual([200, 201, 202, 203])
    }
    slow.socket.destroy()
    expect(longest).toBeLessThan(1000)
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6)
    expect(firstTokens((await get("/batch"))["batch"])).toEqual([100, 101, 102, 103])
    expect(await get("/status")).toMatchObject({ current_step: 2 })
  })

  test("is cut when it takes nothing for longer than it may", async () => {
    for (let batch = 0; batch < 4; batch += 1) await pushBatch(100 * (batch + 1))
    const stalled = await RawConnection.open(address)
    stalled.socket.pause()
    // Identity, so that the answer does not fit into the kernel's buffers.
    stalled.send(head("GET", "/batch"))
    await sleep(4500)
    // It never sees the whole answer, and the next poll does.
    const body = (await stalled.readAll()).toString("latin1")
    expect(body.endsWith("]}")).toBe(false)
    expect(firstTokens((await get("/batch"))["batch"])).toEqual([100, 101, 102, 103])
  })
})

describe("a client that closes its side of the connection", () => {
  // A half-closed connection looks like one whose client is gone, and a batch written to nobody would be lost.
  test("after its request gets the whole batch, or the next poll does", async () => {
    await pushBatch(100)
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const connection = await RawConnection.open(address)
      connection.send(head("GET", "/batch", { "accept-encoding": "gzip" }))
      if (attempt > 0) await sleep(attempt)
      connection.socket.end()
      const answer = await connection.readAll()
      const isWhole = answer.length > 0 && answer.length === wholeLength(answer)
      if (isWhole) {
        const { batch } = JSON.parse(gunzipSync(bodyOf(answer)).toString()) as { batch: unknown }
        expect(firstTokens(batch)).toEqual([100, 101, 102, 103])
        expect(await get("/status")).toMatchObject({ current_step: 1, queue_size: 0 })
        return
      }
      expect(await get("/status")).toMatchObject({ current_step: 0 })
    }
    expect(firstTokens((await get("/batch"))["batch"])).toEqual([100, 101, 102, 103])
  })

  test("in the middle of a body leaves nothing behind", async () => {
    const json = { "content-type": "application/json" }
    for (const headers of [
      { ...json, "content-length": 100_000 },
      { ...json, "transfer-encoding": "chunked" },
    ]) {
      const connection = await RawConnection.open(address)
      connection.send(head("POST", "/scored_data", headers), '64\r\n{"tokens":[[1]],')
      connection.socket.end()
      await connection.ended()
    }
    expect(await get("/status")).toMatchObject({ queue_size: 0 })
    expect(await pushGroup(1)).toEqual({ status: "received" })
  })
})

describe("a client that sends too slowly", () => {
  test("gets a 408 for a body, and others are served meanwhile", async () => {
    const connection = await RawConnection.open(address)
    connection.send(head("POST", "/scored_data", { "content-type": "application/json", "content-length": 1000 }))
    let dripping = true
    const drip = async (): Promise<void> => {
      while (dripping) {
        if (connection.socket.writable) connection.send("{")
        await sleep(200)
      }
    }
    const dripped = drip()
    expect(await pushGroup(1)).toEqual({ status: "received" })
    const answer = (await connection.readAll()).toString()
    dripping = false
    await dripped
    expect(answer).toMatch(/^HTTP\/1\.1 408 /)
    expect(answer).toContain("body")
    expect(await get("/status")).toMatchObject({ queue_size: 1 })
  })

  test("gets a 408 for headers", async () => {
    const connection = await RawConnection.open(address)
    connection.send("GET /status HTTP/1.1\r\nhost: x\r\n")
    expect((await connection.readAll()).toString()).toMatch(/^HTTP\/1\.1 408 /)
  })
})
