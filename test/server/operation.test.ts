import { once } from "node:events"
import { readFileSync, rmSync } from "node:fs"
import { mkdtemp, readdir } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { describe, expect, onTestFinished, test } from "vitest"

import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../packages/atropos/src/server/trajectory-server.ts"
import { GatedStore, ServerUnderTest, until, wireGroup } from "./server-under-test.ts"

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "atropos-operation-"))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  return folder
}

describe("metrics", () => {
  test("tell of the queue, the environments, batches, staleness and refusals", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    const env_id = await server.registerEnvironment()
    await server.push(1, { env_id })
    await server.push(2, { env_id })
    await server.push(3, { size: 1, env_id })
    await server.get("/batch")
    await server.push(4, { size: 5 })
    const { text } = await server.get("/metrics")
    for (const line of [
      "atropos_queue_groups 1",
      "atropos_queue_sequences 4",
      'atropos_environment_queued_sequences{env="e_0"} 4',
      'atropos_environment_buffered_sequences{env="e_0"} 1',
      'atropos_environment_pushed_groups{env="e_0"} 3',
      "atropos_environments_connected 1",
      "atropos_pushed_groups_total 3",
      "atropos_pushed_tokens_total 18",
      "atropos_batches_total 1",
      "atropos_delivered_sequences_total 4",
      "atropos_step 1",
      "atropos_staleness_steps_count 1",
      'atropos_refused_requests_total{reason="too_long"} 1',
      'atropos_request_seconds_count{method="GET",route="/batch",status="200"} 2',
    ]) {
      expect(text.split("\n")).toContain(line)
    }
    expect(text).toContain("nodejs_eventloop_lag_p99_seconds")
  })
})

describe("POST /log", () => {
  test("keeps metrics with the run, one file a source, with the time if none is given", async () => {
    const folder = await newFolder()
    const server = await ServerUnderTest.start({ folder })
    const one = { source: "env:gsm8k_0", step: 3, metrics: { reward: 0.5 } }
    const two = {
      source: "../trainer",
      time: 12.5,
      metrics: {},
      table: { name: "t", columns: ["a"], rows: [[1], ["x"]] },
    }
    expect((await server.post("/log", one)).json).toEqual({ status: "received" })
    expect((await server.post("/log", [two, one])).json).toEqual({ status: "received" })
    const files = await readdir(join(folder, "journal"))
    expect(files).toHaveLength(2)
    const lines = files.map((file) =>
      readFileSync(join(folder, "journal", file), "utf8")
        .trim()
        .split("\n"),
    )
    const entries = lines.flat().map((line) => JSON.parse(line) as unknown)
    expect(entries).toContainEqual(two)
    expect(entries).toContainEqual({ ...one, time: server.clock.ms / 1000 })
  })

  test("refuses what is no metric, by place", async () => {
    const server = await ServerUnderTest.start()
    const { status, json } = await server.post("/log", [
      { source: "a", metrics: {} },
      { source: "a", metrics: { x: "high" } },
    ])
    expect([status, json.detail[0].loc]).toEqual([422, ["body", 1, "metrics", "x"]])
    expect((await server.post("/log", { source: "", metrics: {} })).json.detail[0].loc).toEqual(["body", "source"])
    expect((await server.request("POST", "/log", { raw: '{"source":"a","metrics":{"x":NaN}}' })).status).toBe(422)
    expect((await server.post("/log", 5)).status).toBe(422)
  })

  test("takes no more than so many sources and bytes", async () => {
    const folder = await newFolder()
    const server = await ServerUnderTest.start({ folder, limits: { maxSources: 1, maxJournal: 200 } })
    const entry = (source: string) => ({ source, metrics: { loss: 1 } })
    expect((await server.post("/log", entry("a"))).status).toBe(200)
    expect((await server.post("/log", entry("b"))).status).toBe(503)
    const full = await server.post(
      "/log",
      Array.from({ length: 9 }, () => entry("a")),
    )
    expect([full.status, full.json.detail]).toEqual([507, expect.stringContaining("--max-journal")])
  })
})

describe("closing", () => {
  test("lets a push that is being committed end, and is answered before the store closes", async () => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    store.hold()
    const push = server.push(1)
    await until(() => store.waiting > 0)
    const closing = server.server.close()
    store.release()
    expect((await push).json).toEqual({ status: "received" })
    await closing
  })

  test.each([
    ["a push", "", /^503 .*retry-after: 1.*\{"detail":"The server is closing; /s],
    ["a question", "GET /ready HTTP/1.1\r\nHost: x\r\n\r\n", /^503 .*\{"status":"draining"\}/s],
  ])("tells %s that comes behind a call under way, which ends", async (_name, question, expected) => {
    const store = new GatedStore()
    const server = await ServerUnderTest.start({ store })
    const body = JSON.stringify(wireGroup(1))
    const push = `POST /scored_data HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const socket = await server.connect()
    let answers = ""
    socket.on("data", (chunk) => (answers += String(chunk)))
    store.hold()
    socket.write(push)
    await until(() => store.waiting > 0)
    const closing = server.server.close()
    socket.write(question === "" ? push : question)
    // What was written lies at the server, which reads it in its next turn.
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
    store.release()
    await Promise.all([closing, once(socket, "close")])
    const [, kept, turnedAway] = answers.split("HTTP/1.1 ")
    expect(kept).toMatch(/^200 .*\{"status":"received"\}/s)
    expect(turnedAway).toMatch(expected)
  })

  test("answers those who wait for a batch or for room", async () => {
    const server = await ServerUnderTest.start({ limits: { maxQueue: 100 } })
    await server.begin({ batch_size: 64 })
    await server.push(1, { ballast: 4000 })
    const poll = server.get("/batch?wait=60")
    const held = server.push(2, { ballast: 4000 })
    await until(async () => {
      const { text } = await server.get("/metrics")
      return text.includes("atropos_waiting_polls 1") && text.includes("atropos_held_pushes 1")
    })
    const closing = server.server.close()
    expect((await poll).json).toEqual({ batch: null })
    expect((await held).status).toBe(503)
    await closing
  })

  test("ends a batch's answer and closes its connection, which the client would keep for the next call", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, { ballast: 12e6 })
    const socket = await server.connect()
    socket.write("GET /batch HTTP/1.1\r\nHost: x\r\n\r\n")
    await new Promise((resolve) => socket.once("readable", resolve))
    // Far beyond the test's own time: whoever waits for it fails.
    const closing = server.server.close({ graceMs: 1e6 })
    let bytes = 0
    socket.on("data", (data: Buffer) => (bytes += data.length))
    await closing
    expect(bytes).toBeGreaterThan(12e6)
    socket.destroy()
  })
})

describe("a server that can not listen", () => {
  test("says that the port is taken and what to do", async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    onTestFinished(() => void other.close())
    const { port } = other.address() as { port: number }
    const server = createTrajectoryServer({ store: createMemoryStore() })
    onTestFinished(() => server.close())
    await expect(server.listen({ host: "127.0.0.1", port })).rejects.toMatchObject({
      code: "port-taken",
      message: expect.stringContaining("--port 0") as string,
    })
  })
})

describe("connections", () => {
  test("beyond --max-connections are closed at once, and counted", async () => {
    const server = await ServerUnderTest.start({ limits: { maxConnections: 3 } })
    await server.get("/health")
    const sockets = await Promise.all(Array.from({ length: 8 }, () => server.connect()))
    let closed = 0
    for (const socket of sockets) socket.on("error", () => {}).once("close", () => (closed += 1))
    await until(() => closed >= 5)
    for (const socket of sockets) socket.destroy()
    await until(async () => /atropos_dropped_connections_total [5-9]/.test((await server.get("/metrics")).text))
  })

  test("whose headers do not come in time are answered with 408", async () => {
    const server = await ServerUnderTest.start({ limits: { headersTimeout: 0.2 } })
    const socket = await server.connect()
    socket.write("GET /status HTTP/1.1\r\nHost:")
    const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve))
    expect(String(answer)).toMatch(/^HTTP\/1\.1 408 .*--headers-timeout/s)
    socket.destroy()
  })
})

test("OpenAPI says of integers no more than is so, and takes no batch to be shown", async () => {
  const server = await ServerUnderTest.start()
  const { text, json } = await server.get("/openapi.json")
  expect(text).not.toContain("9007199254740991")
  expect(
    json.paths["/register"].post.requestBody.content["application/json"].schema.properties.batch_size,
  ).toMatchObject({
    type: "integer",
    minimum: 1,
  })
  expect((await server.get("/docs")).text).toContain("<html")
  expect((await server.get("/docs/static/swagger-ui.css")).status).toBe(200)
})

test("what is no path, or no request at all, is answered in JSON", async () => {
  const server = await ServerUnderTest.start()
  expect((await server.get("/%ff")).json.detail).toEqual(expect.any(String))
  expect((await server.get(`/${"x".repeat(5000)}`)).status).toBe(404)
  const socket = await server.connect()
  socket.write("nonsense\r\n\r\n")
  const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve))
  expect(String(answer)).toMatch(/^HTTP\/1.1 400 .*\{"detail":/s)
  socket.destroy()
})
