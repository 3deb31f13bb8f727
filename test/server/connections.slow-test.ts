import { connect, type Socket } from "node:net"

import { Client } from "undici"
import { expect, onTestFinished, test } from "vitest"

import { ServerProcess } from "../../bench/server-queue/server-process.ts"
import { trainer, wireGroup } from "./server-under-test.ts"

test("5,000 idle connections, and readers that take a batch at a crawl, do not stop the others", async () => {
  const server = await ServerProcess.start(["--store", "memory"])
  onTestFinished(() => server.stop())
  const { hostname, port } = new URL(server.address)
  const client = new Client(server.address)
  onTestFinished(() => client.destroy())
  const call = async (method: "GET" | "POST", path: string, body?: object): Promise<string> => {
    const json = { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }
    const response = await client.request({ method, path, ...(body === undefined ? {} : json) })
    return response.body.text()
  }
  await call("POST", "/register", trainer)
  for (const marker of [1, 2]) await call("POST", "/scored_data", wireGroup(marker, { ballast: 20_000_000 }))

  const idle: Socket[] = []
  for (let index = 0; index < 5000; index++) {
    const socket = connect(Number(port), hostname)
    idle.push(socket)
    if (index % 100 === 99) await new Promise((resolve) => socket.once("connect", resolve))
  }
  onTestFinished(() => {
    for (const socket of idle) socket.destroy()
  })

  const before = server.residentBytes()
  const slow = connect(Number(port), hostname)
  slow.on("error", () => {})
  onTestFinished(() => void slow.destroy())
  slow.write("GET /batch HTTP/1.1\r\nHost: x\r\n\r\n")
  await new Promise((resolve) => slow.once("readable", resolve))
  slow.read(1024)

  const times: number[] = []
  for (let index = 0; index < 200; index++) {
    const start = performance.now()
    await call("GET", "/status-env?env_id=0")
    times.push(performance.now() - start)
    slow.read(1024)
  }
  expect(times.toSorted((a, b) => a - b)[100]).toBeLessThan(50)
  expect(JSON.parse(await call("GET", "/status"))).toMatchObject({ current_step: 0, queue_size: 2 })
  // The slow reader's batch is not gathered in memory: what was read ahead is all that is there of it.
  expect(server.residentBytes() - before).toBeLessThan(120e6)
  const batch = JSON.parse(await call("GET", "/batch")) as { batch: { tokens: number[][] }[] }
  expect(batch.batch[0]?.tokens[0]?.[0]).toBe(2)
})
