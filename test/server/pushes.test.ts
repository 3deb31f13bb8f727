import { rmSync } from "node:fs"
import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"

import { describe, expect, onTestFinished, test } from "vitest"

import { AtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import { openSqliteStore } from "../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"
import { GatedStore, markersOf, ServerUnderTest, until, wireGroup } from "./server-under-test.ts"

async function queueSize(server: ServerUnderTest): Promise<number> {
  return Number((await server.get("/status")).json.queue_size)
}

async function connections(server: ServerUnderTest): Promise<number> {
  return Number(/^atropos_connections (\d+)$/m.exec((await server.get("/metrics")).text)?.[1])
}

/** Sends a push and breaks the connection off before its answer. */
async function pushAndLeave(server: ServerUnderTest, store: GatedStore, moreHeaders = ""): Promise<void> {
  const body = JSON.stringify(wireGroup(1))
  const before = await connections(server)
  const socket = await server.connect()
  store.hold()
  socket.write(
    `POST /scored_data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n${moreHeaders}Content-Length: ${body.length}\r\n\r\n${body}`,
  )
  await until(() => store.waiting > 0)
  socket.destroy()
  await until(async () => (await connections(server)) === before)
}

describe("a push with an Idempotency-Key", () => {
  const key = { headers: { "idempotency-key": "one" } }

  test("counts once and is answered as the first time", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    const env_id = await server.registerEnvironment()
    for (let time = 0; time < 3; time++) {
      const { json } = await server.push(1, { size: 1, env_id }, key)
      expect(json).toEqual({ status: "buffered", buffer_size: 1 })
    }
    expect((await server.push(1, { size: 1, env_id })).json).toEqual({ status: "buffered", buffer_size: 2 })
  })

  test("counts once when both come at the same time", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    store.hold()
    const pushes = [server.push(1, {}, key), server.push(1, {}, key)]
    await until(() => store.waiting > 0)
    store.release()
    for (const { json } of await Promise.all(pushes)) expect(json).toEqual({ status: "received" })
    expect(await queueSize(server)).toBe(1)
  })

  test("counts beside one of the same bytes with another key or none, whose answer got lost", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    await pushAndLeave(server, store, "Idempotency-Key: one\r\n")
    store.release()
    await until(async () => (await queueSize(server)) === 1)
    await server.push(1, {}, { headers: { "idempotency-key": "two" } })
    await server.push(1)
    expect(await queueSize(server)).toBe(3)
    await pushAndLeave(server, store)
    store.release()
    await until(async () => (await queueSize(server)) === 4)
    await server.push(1, {}, { headers: { "idempotency-key": "three" } })
    expect(await queueSize(server)).toBe(5)
    for (const name of ["one", "two", "three"]) await server.push(1, {}, { headers: { "idempotency-key": name } })
    expect(await queueSize(server)).toBe(5)
  })

  test("is refused when the key came with other bytes before", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, {}, key)
    const { status, json } = await server.push(2, {}, key)
    expect([status, json.detail[0].loc]).toEqual([422, ["header", "idempotency-key"]])
    expect(await queueSize(server)).toBe(1)
  })

  test("is tried anew when the first could not be kept", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    store.failure = new AtroposError("store-full", "no room", { retryable: true })
    expect((await server.push(1, {}, key)).status).toBe(507)
    store.failure = null
    expect((await server.push(1, {}, key)).json).toEqual({ status: "received" })
    expect(await queueSize(server)).toBe(1)
  })

  test("counts once across a restart, and only so many keys are known", async () => {
    const directory = await mkdtemp(join(tmpdir(), "atropos-keys-"))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    const limits = { maxKeys: 2 }
    const first = await ServerUnderTest.start({ store: await openSqliteStore({ directory }), limits })
    await first.begin()
    for (const name of ["a", "b", "c"]) await first.push(1, {}, { headers: { "idempotency-key": name } })
    await first.stop()
    const second = await ServerUnderTest.start({ store: await openSqliteStore({ directory }), limits })
    second.clock.ms += 100_000
    for (const name of ["c", "b"]) await second.push(1, {}, { headers: { "idempotency-key": name } })
    expect(await queueSize(second)).toBe(3)
    await second.push(1, {}, { headers: { "idempotency-key": "a" } })
    expect(await queueSize(second)).toBe(4)
  })
})

describe("a push whose answer got lost", () => {
  test("counts once when the same bytes come again within a minute", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    await pushAndLeave(server, store)
    const retry = server.push(1)
    await new Promise((resolve) => setImmediate(resolve))
    store.release()
    expect((await retry).json).toEqual({ status: "received" })
    expect(await queueSize(server)).toBe(1)
    // The retry was answered: the next push of these bytes is another group.
    await server.push(1)
    expect(await queueSize(server)).toBe(2)
  })

  test("counts again after more than a minute", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    await pushAndLeave(server, store)
    store.release()
    await until(async () => (await queueSize(server)) === 1)
    server.clock.ms += 61_000
    await server.push(1)
    expect(await queueSize(server)).toBe(2)
  })

  test("equal groups count twice when every answer arrives", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await Promise.all([server.push(1), server.push(1), server.push(1)])
    expect(await queueSize(server)).toBe(3)
  })

  test("pushes sent down one connection without waiting for answers are each kept and answered", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    const body = JSON.stringify(wireGroup(1))
    const socket = await server.connect()
    const push = `POST /scored_data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    let answers = ""
    socket.on("data", (chunk) => (answers += String(chunk)))
    store.hold()
    socket.write(push.repeat(3))
    await until(() => store.waiting > 0)
    store.release()
    await until(() => answers.split('{"status":"received"}').length === 4)
    expect(await queueSize(server)).toBe(3)
    socket.destroy()
  })

  test("a push that breaks off before it was read leaves nothing", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    const socket = await server.connect()
    socket.write(
      "POST /scored_data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
    )
    await new Promise((resolve) => setImmediate(resolve))
    socket.destroy()
    await until(async () => (await server.get("/metrics")).text.includes("atropos_body_bytes 0"))
    expect(await queueSize(server)).toBe(0)
  })
})

describe("a full queue", () => {
  test("holds pushes until there is room, in their order", async () => {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 1000 } })
    await server.begin()
    await server.push(1, { ballast: 4000 })
    const held = [server.push(2, { ballast: 4000 }), server.push(3, { ballast: 4000 })]
    await until(async () => (await server.get("/metrics")).text.includes("atropos_held_pushes 2"))
    expect((await server.get("/ready")).status).toBe(503)
    expect(markersOf(await server.get("/batch"))).toEqual([1])
    await Promise.race(held)
    expect(markersOf(await server.get("/batch"))).toEqual([2])
    for (const { json } of await Promise.all(held)) expect(json).toEqual({ status: "received" })
  })

  test("sends pushes away with 503 and Retry-After when there is none in time, never with 429", async () => {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 1000, maxHold: 0.05 } })
    await server.begin()
    await server.push(1, { ballast: 4000 })
    const { status, headers, json } = await server.push(2, { ballast: 100_000 })
    expect([status, headers["retry-after"]]).toEqual([503, "5"])
    expect(json.detail).toContain("--max-queue")
    expect(await queueSize(server)).toBe(1)
  })
})

describe("a store that takes nothing", () => {
  test("a full disk is a 507 to the producer and null to the trainer, until there is room again", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    await server.push(1)
    store.failure = new AtroposError("store-full", "The disk has no room", { retryable: true })
    const refused = await server.push(2)
    expect([refused.status, refused.json.detail]).toEqual([507, "The disk has no room"])
    expect((await server.get("/batch")).json).toEqual({ batch: null })
    expect(await queueSize(server)).toBe(1)
    store.failure = null
    expect((await server.push(3)).json).toEqual({ status: "received" })
    expect(markersOf(await server.get("/batch"))).toEqual([1])
    expect(markersOf(await server.get("/batch"))).toEqual([3])
  })

  test("another failure of the disk is a 503", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    await server.begin()
    store.failure = new AtroposError("store-failed", "The disk does not answer", { retryable: true })
    expect((await server.push(2)).status).toBe(503)
  })
})

describe("bounds of a body", () => {
  test("larger than --max-body as sent: 413, told from the header or found on the way", async () => {
    const server = await ServerUnderTest.start({ limits: { maxBody: 10_000 } })
    const { status, json } = await server.push(1, { ballast: 20_000 })
    expect([status, json.detail]).toEqual([413, expect.stringContaining("--max-body")])
    const socket = await server.connect()
    socket.write(
      "POST /scored_data HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n",
    )
    socket.write(`4e20\r\n${" ".repeat(20_000)}\r\n`)
    const [answer] = await new Promise<Buffer[]>((resolve) => socket.once("data", (chunk) => resolve([chunk])))
    expect(String(answer)).toContain("413")
    socket.destroy()
  })

  test("larger than --max-inflated after gzip: 413, on any call", async () => {
    const server = await ServerUnderTest.start({ limits: { maxInflated: 100_000 } })
    const raw = gzipSync(" ".repeat(1_000_000))
    const headers = { "content-encoding": "gzip" }
    for (const path of ["/scored_data", "/scored_data_list", "/register", "/register-env", "/log"]) {
      const { status, json } = await server.request("POST", path, { raw, headers })
      expect([path, status, json.detail]).toEqual([path, 413, expect.stringContaining("--max-inflated")])
    }
    expect((await server.get("/status-env", { raw, headers })).status).toBe(413)
  })

  test("deeper than --max-nesting: 400; 300 levels work", async () => {
    const server = await ServerUnderTest.start()
    const nest = (levels: number) => ({
      raw: `{"tokens":[[1]],"masks":[[1]],"scores":[1],"images":${"[".repeat(levels)}${"]".repeat(levels)}}`,
    })
    expect((await server.request("POST", "/scored_data", nest(300))).json).toEqual({ status: "received" })
    expect((await server.request("POST", "/scored_data", nest(100_000))).status).toBe(400)
    expect((await server.request("POST", "/register-env", nest(100_000))).status).toBe(400)
  })

  test("more sequences than --max-sequences: 422 at tokens", async () => {
    const server = await ServerUnderTest.start({ limits: { maxSequences: 8 } })
    const { status, json } = await server.push(1, { size: 9 })
    expect([status, json.detail[0].type, json.detail[0].loc]).toEqual([422, "too_long", ["body", "tokens"]])
  })

  test("a body that does not come in time: 408", async () => {
    const server = await ServerUnderTest.start({ limits: { bodyTimeout: 0.1 } })
    const socket = await server.connect()
    socket.write(
      "POST /scored_data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 5000\r\n\r\n{",
    )
    const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve))
    expect(String(answer)).toMatch(/^HTTP\/1.1 408 /)
    socket.destroy()
  })

  test("an encoding that nobody here knows: 415", async () => {
    const server = await ServerUnderTest.start()
    const { status, json } = await server.push(1, {}, { headers: { "content-encoding": "br" } })
    expect([status, json.detail]).toEqual([415, expect.stringContaining("br")])
  })
})

describe("a full queue of which no batch can be formed", () => {
  const heldPushes = async (server: ServerUnderTest): Promise<number> =>
    Number(/^atropos_held_pushes (\d+)$/m.exec((await server.get("/metrics")).text)?.[1])

  /** Two groups of 4 sequences fill the queue; batches have 8, half of them of an environment that has sent nothing. */
  async function startShortOfMinimum(limits: { maxHold?: number } = {}): Promise<ServerUnderTest> {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 5000, ...limits } })
    await server.begin({ batch_size: 8 })
    await server.registerEnvironment({ min_batch_allocation: 0.5 })
    await server.registerEnvironment()
    for (const marker of [1, 2]) await server.push(marker, { env_id: 1, ballast: 4000 })
    expect((await server.get("/batch")).json).toEqual({ batch: null })
    return server
  }

  test("keeps what the environment pushes for which it waits, and no more than a batch lacks", async () => {
    const server = await startShortOfMinimum()
    const unneeded = server.push(3, { env_id: 1, ballast: 4000 })
    await until(async () => (await heldPushes(server)) === 1)
    const needed = [4, 5].map((marker) => server.push(marker, { env_id: 0, ballast: 4000 }))
    expect((await Promise.race(needed)).json).toEqual({ status: "received" })
    await until(async () => (await heldPushes(server)) === 2)
    expect(await queueSize(server)).toBe(3)
    const [first = 0, ...others] = markersOf(await server.get("/batch")) ?? []
    expect([4, 5]).toContain(first)
    expect(others).toEqual([1])
    for (const { json } of await Promise.all([unneeded, ...needed])) expect(json).toEqual({ status: "received" })
  })

  test("sends others away with the reason", async () => {
    const server = await startShortOfMinimum({ maxHold: 0.05 })
    const { status, json } = await server.push(3, { env_id: 1 })
    expect(status).toBe(503)
    expect(json.detail).toMatch(/No batch can be formed of it: environment 0 \(e_0\) has a minimum of 4 sequences/)
  })

  test("keeps sizes that let the others sum to a batch", async () => {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 5000 } })
    await server.begin({ batch_size: 8 })
    for (const marker of [1, 2, 3]) await server.push(marker, { size: 3, ballast: 2400 })
    const unneeded = server.push(4, { size: 3 })
    await until(async () => (await heldPushes(server)) === 1)
    expect((await server.push(5, { size: 2 })).status).toBe(200)
    expect(markersOf(await server.get("/batch"))).toEqual([1, 2, 5])
    expect((await unneeded).status).toBe(200)
  })

  test("takes what a batch lacks when its groups are not yet acknowledged", async () => {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 5000 } })
    await server.begin({ batch_size: 4 })
    for (const marker of [1, 2]) await server.push(marker, { ballast: 4000 })
    for (const marker of [1, 2]) expect(markersOf(await server.get("/batch?ack=manual"))).toEqual([marker])
    expect((await server.push(3)).status).toBe(200)
    expect(markersOf(await server.get("/batch"))).toEqual([3])
  })
})
