import { once } from "node:events"
import { connect, type Socket } from "node:net"
import { expect, test } from "vitest"
import { createMemoryStore } from "../stores/memory-store.ts"
import { createTrajectoryServer, type TrajectoryServer } from "../trajectory-server.ts"

async function openConnections(address: string, count: number): Promise<Socket[]> {
  const { hostname, port } = new URL(address)
  const sockets: Socket[] = []
  while (sockets.length < count) {
    const some = Array.from({ length: Math.min(250, count - sockets.length) }, () => connect(Number(port), hostname))
    for (const socket of some) socket.on("error", () => {})
    await Promise.all(some.map((socket) => once(socket, "connect")))
    sockets.push(...some)
  }
  return sockets
}

function createServer(limits: { headersTimeout?: number; maxConnections?: number }): TrajectoryServer {
  return createTrajectoryServer({ store: createMemoryStore(), limits })
}

test("5,000 connections that never ask for anything are closed in time", async () => {
  const server = createServer({ headersTimeout: 3 })
  const address = await server.listen({ host: "127.0.0.1", port: 0 })
  const sockets: Socket[] = []
  const closed: Promise<unknown>[] = []
  for (let some = 0; some < 20; some += 1) {
    const opened = await openConnections(address, 250)
    sockets.push(...opened)
    closed.push(...opened.map((socket) => (socket.destroyed ? Promise.resolve([]) : once(socket.resume(), "close"))))
  }
  expect((await fetch(`${address}/health`)).status).toBe(200)
  await Promise.all(closed)
  expect(sockets.every((socket) => socket.destroyed)).toBe(true)
  await server.close()
})

test("connections beyond the limit are closed at once, and the others are served", async () => {
  const server = createServer({ maxConnections: 20 })
  const address = await server.listen({ host: "127.0.0.1", port: 0 })
  const [first, ...others] = await openConnections(address, 20)
  const refused = connect(Number(new URL(address).port), "127.0.0.1").on("error", () => {})
  await once(refused.resume(), "close")
  first!.write("GET /health HTTP/1.1\r\nhost: x\r\n\r\n")
  const [answer] = (await once(first!, "data")) as [Buffer]
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 200 /)
  for (const socket of [first!, ...others]) socket.destroy()
  await server.close()
})
