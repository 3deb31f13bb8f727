import { once } from "node:events"
import { createServer, type Server, type ServerResponse } from "node:http"
import { connect, type AddressInfo, type Socket } from "node:net"
import { afterEach, beforeEach, expect, test } from "vitest"
import { ResponseWriter } from "./response-writer.ts"

let server: Server
let client: Socket
let response: ServerResponse

beforeEach(async () => {
  server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  client = connect((server.address() as AddressInfo).port, "127.0.0.1")
  client.on("error", () => {})
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n")
  ;[, response] = (await once(server, "request")) as [unknown, ServerResponse]
})

afterEach(() => {
  client.destroy()
  server.closeAllConnections()
  server.close()
})

/** More than connections hold while nobody reads. */
const large = new Uint8Array(64 * 1024 * 1024)

test("frees a piece when all its bytes have been handed to the connection, and not before", async () => {
  const writer = new ResponseWriter(response, 60_000)
  let freed = false
  const written = writer.write([{ bytes: large, free: () => (freed = true) }])
  client.pause()
  await once(client, "readable")
  expect(freed).toBe(false)
  client.resume()
  expect(await written).toBe(true)
  expect(await writer.end()).toBe(true)
  expect(freed).toBe(true)
})

test("does not free a piece of an answer that was cut: the connection may still look at it", async () => {
  const writer = new ResponseWriter(response, 60_000)
  let freed = false
  const written = writer.write([{ bytes: large, free: () => (freed = true) }])
  const closed = once(response, "close")
  client.destroy()
  expect(await written).toBe(false)
  await closed
  expect(freed).toBe(false)
})
