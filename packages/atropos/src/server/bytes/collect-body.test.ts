import { once } from "node:events"
import { createServer, type IncomingMessage, request, type Server } from "node:http"
import { connect, type AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { MemoryPool } from "../memory-pool.ts"
import { collectBody, type CollectedBody } from "./collect-body.ts"

describe("collecting a body", () => {
  const memory = new MemoryPool()
  let limits = { bodyBytes: 3_000_000, timeoutMs: 10_000 }
  let server: Server
  let collected: (result: CollectedBody) => void = () => {}

  beforeAll(async () => {
    server = createServer((incoming: IncomingMessage, response) => {
      void collectBody(memory, incoming, limits).then((result) => {
        collected(result)
        response.writeHead(200, { connection: "close" }).end()
      })
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
  })
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })
  const port = (): number => (server.address() as AddressInfo).port
  const nextResult = (): Promise<CollectedBody> => new Promise((resolve) => (collected = resolve))

  function send(body: Buffer, headers: Record<string, string | number>): Promise<CollectedBody> {
    const result = nextResult()
    const outgoing = request({ port: port(), host: "127.0.0.1", method: "POST", headers })
    outgoing.on("error", () => {})
    outgoing.end(body)
    return result
  }

  test.each([0, 1, 16_384, 100_000, 2_500_000])("gives all %d bytes, with a length or in chunks", async (length) => {
    const body = Buffer.alloc(length, "0123456789")
    for (const headers of [{ "content-length": length }, { "transfer-encoding": "chunked" }]) {
      const result = await send(body, headers)
      if (result.outcome !== "whole") throw new Error(result.outcome)
      expect(Buffer.from(result.body).equals(body)).toBe(true)
      memory.give(result.body.buffer)
    }
  })

  test("refuses what is too large, told beforehand or not", async () => {
    const body = Buffer.alloc(3_000_001)
    for (const headers of [{ "content-length": body.length }, { "transfer-encoding": "chunked" }]) {
      const result = await send(body, headers)
      expect(result).toMatchObject({ outcome: "refused", refusal: { status: 413, reason: "body_too_large" } })
    }
  })

  test("refuses a body that does not come in time", async () => {
    limits = { ...limits, timeoutMs: 20 }
    const result = nextResult()
    const socket = connect(port(), "127.0.0.1")
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n123")
    expect(await result).toMatchObject({ outcome: "refused", refusal: { status: 408, reason: "body_timeout" } })
    socket.destroy()
    limits = { ...limits, timeoutMs: 10_000 }
  })

  test("says when the client went away", async () => {
    const result = nextResult()
    const socket = connect(port(), "127.0.0.1")
    socket.write("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n123")
    await once(server, "request")
    socket.destroy()
    expect((await result).outcome).toBe("aborted")
  })
})
