import { once } from "node:events"

import { describe, expect, test } from "vitest"

import { GatedStore, markersOf, ServerUnderTest, trainer, until } from "./server-under-test.ts"

describe("waiting for a batch", () => {
  test("a poll with ?wait is answered as soon as a push completes a batch", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, { size: 2 })
    const poll = server.get("/batch?wait=60")
    await until(async () => (await server.get("/metrics")).text.includes("atropos_waiting_polls 1"))
    await server.push(2, { size: 2 })
    expect(markersOf(await poll)).toEqual([1, 2])
  })

  test("a poll with ?wait is answered with null when its time is over", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    expect((await server.get("/batch?wait=0.05")).json).toEqual({ batch: null })
  })

  test("who stops waiting takes no batch along", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    const abort = new AbortController()
    const poll = server.get("/batch?wait=60", { signal: abort.signal }).catch(() => "gone")
    await until(async () => (await server.get("/metrics")).text.includes("atropos_waiting_polls 1"))
    abort.abort()
    expect(await poll).toBe("gone")
    await until(async () => (await server.get("/metrics")).text.includes("atropos_waiting_polls 0"))
    await server.push(1)
    expect(markersOf(await server.get("/batch"))).toEqual([1])
  })

  test("a negative or wordy wait is refused by name", async () => {
    const server = await ServerUnderTest.start()
    const { status, json } = await server.get("/batch?wait=soon")
    expect(status).toBe(422)
    expect(json.detail[0]).toMatchObject({ type: "float_parsing", loc: ["query", "wait"] })
    expect((await server.get("/batch?wait=-1")).json.detail[0].type).toBe("greater_than_equal")
  })
})

describe("an answer that was cut", () => {
  async function cutPoll(server: ServerUnderTest, path = "/batch"): Promise<string> {
    const socket = await server.connect()
    socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    const [start]: Buffer[] = await once(socket, "data")
    socket.destroy()
    return String(start)
  }

  test("is handed out again, the same batch for the same step, and nothing else moves meanwhile", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    for (const marker of [1, 2]) await server.push(marker, { size: 2, ballast: 8_000_000 })
    await server.push(3, { size: 4 })
    await cutPoll(server)
    expect((await server.get("/status")).json).toEqual({ current_step: 0, queue_size: 3 })
    expect((await server.get("/status-env?env_id=9")).json).toMatchObject({ max_group_size: 4, queue_size: 2 })
    expect(markersOf(await server.get("/batch"))).toEqual([1, 2])
    expect((await server.get("/status")).json).toEqual({ current_step: 1, queue_size: 1 })
    expect(markersOf(await server.get("/batch"))).toEqual([3])
    expect((await server.get("/status")).json).toMatchObject({ current_step: 2, queue_size: 0 })
  })

  test("can no longer be acknowledged once it is handed out again, under another id", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, { size: 4, ballast: 8_000_000 })
    const first = await cutPoll(server, "/batch?ack=manual")
    const cut = /"batch_id":"([^"]+)"/.exec(first)?.[1]
    const again = await server.get("/batch?ack=manual&wait=60")
    expect(markersOf(again)).toEqual([1])
    expect(cut).toEqual(expect.any(String))
    expect(again.json.batch_id).not.toBe(cut)
    const late = await server.post(`/batch/${cut}/ack`)
    expect(late.status).toBe(409)
    expect(late.json.detail).toContain(`Batch ${cut} was handed out again`)
    const success = { status: "success", batch_id: again.json.batch_id }
    for (let time = 0; time < 2; time++) {
      expect((await server.post(`/batch/${again.json.batch_id}/ack`)).json).toEqual(success)
    }
    expect((await server.post(`/batch/${cut}/ack`)).status).toBe(409)
  })

  test("goes back to its old place when a trainer with other settings comes", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, { size: 4, ballast: 8_000_000 })
    await server.push(2, { size: 2 })
    await server.push(3, { size: 2 })
    await cutPoll(server)
    await server.post("/register", { ...trainer, batch_size: 8, starting_step: 7 })
    expect((await server.get("/status")).json).toEqual({ current_step: 7, queue_size: 3 })
    expect(markersOf(await server.get("/batch"))).toEqual([1, 2, 3])
    expect((await server.get("/status")).json).toMatchObject({ current_step: 8, queue_size: 0 })
  })

  test("does not stop other polls while a slow reader has it", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1, { size: 4, ballast: 8_000_000 })
    await server.push(2)
    const slow = await server.connect()
    slow.write("GET /batch HTTP/1.1\r\nHost: x\r\n\r\n")
    await once(slow, "data")
    slow.pause()
    expect(markersOf(await server.get("/batch"))).toEqual([2])
    expect((await server.get("/status")).json).toMatchObject({ current_step: 1, queue_size: 1 })
    slow.destroy()
    await until(async () => (await server.get("/status")).json.reason === undefined)
    expect(markersOf(await server.get("/batch"))).toEqual([1])
  })

  test("is cut by the server when its reader takes nothing for too long", async () => {
    const server = await ServerUnderTest.start({ limits: { stallTimeout: 1 } })
    await server.begin()
    await server.push(1, { size: 4, ballast: 16_000_000 })
    const stalled = await server.connect()
    stalled.on("error", () => {}).pause()
    stalled.write("GET /batch HTTP/1.1\r\nHost: x\r\n\r\n")
    await until(async () => (await server.get("/metrics")).text.includes("atropos_cut_answers_total 1"))
    stalled.destroy()
    // No reason why there is none: the batch waits for the next poll.
    expect((await server.get("/status")).json).toEqual({ current_step: 0, queue_size: 1 })
  })
})

describe("acknowledged batches", () => {
  test("stay away when they are acknowledged, also twice", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1)
    const { json } = await server.get("/batch?ack=manual")
    expect(json.batch_id).toEqual(expect.any(String))
    expect((await server.get("/status")).json).toMatchObject({ current_step: 1, queue_size: 0 })
    for (let time = 0; time < 2; time++) {
      expect((await server.post(`/batch/${json.batch_id}/ack`)).json).toEqual({
        status: "success",
        batch_id: json.batch_id,
      })
    }
    server.clock.ms += 700_000
    expect((await server.get("/batch")).json).toEqual({ batch: null })
  })

  test("go back to the front of the queue when nobody acknowledges them in time", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    for (const marker of [1, 2, 3, 4]) await server.push(marker, { size: 2 })
    const first = await server.get("/batch?ack=manual")
    const second = await server.get("/batch?ack=manual")
    expect([markersOf(first), markersOf(second)]).toEqual([
      [1, 2],
      [3, 4],
    ])
    await server.push(5)
    server.clock.ms += 599_000
    expect((await server.get("/status")).json).toMatchObject({ current_step: 2, queue_size: 1 })
    server.clock.ms += 1_000
    expect((await server.get("/status")).json).toMatchObject({ current_step: 2, queue_size: 5 })
    const late = await server.post(`/batch/${first.json.batch_id}/ack`)
    expect(late.status).toBe(409)
    expect(late.json.detail).toContain("not acknowledged in time")
    const again = [await server.get("/batch"), await server.get("/batch"), await server.get("/batch")]
    expect(again.map(markersOf)).toEqual([[1, 2], [3, 4], [5]])
  })

  test("unknown ids and other words are named", async () => {
    const server = await ServerUnderTest.start()
    expect((await server.post("/batch/12/ack")).status).toBe(404)
    expect((await server.post("/batch/x/ack")).status).toBe(404)
    const { status, json } = await server.get("/batch?ack=auto")
    expect([status, json.detail[0].loc]).toEqual([422, ["query", "ack"]])
  })

  test("are forgotten with a reset", async () => {
    const server = await ServerUnderTest.start()
    await server.begin()
    await server.push(1)
    const { json } = await server.get("/batch?ack=manual")
    await server.get("/reset_data")
    expect((await server.post(`/batch/${json.batch_id}/ack`)).status).toBe(404)
    server.clock.ms += 700_000
    expect((await server.get("/status")).json).toMatchObject({ queue_size: 0 })
  })
})

test("two trainers that poll at once get two batches", async () => {
  const server = await ServerUnderTest.start()
  await server.begin()
  for (const marker of [1, 2]) await server.push(marker)
  const answers = await Promise.all([server.get("/batch"), server.get("/batch"), server.get("/batch")])
  expect(answers.map(markersOf).toSorted((a, b) => (a?.[0] ?? 9) - (b?.[0] ?? 9))).toEqual([[1], [2], null])
})

test("a batch chosen for a registration that changes meanwhile is not handed out", async () => {
  const store = new GatedStore()
  const server = await ServerUnderTest.start({ store })
  await server.begin()
  for (const marker of [1, 2]) await server.push(marker)
  store.hold()
  const registered = server.post("/register", { ...trainer, batch_size: 8 })
  await until(() => store.waiting > 0)
  const poll = server.get("/batch")
  store.release()
  expect((await registered).json.status).toBe("updated")
  expect(markersOf(await poll)).toEqual([1, 2])
})
