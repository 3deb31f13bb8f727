import { createServer } from "node:http"
import type { AddressInfo, Socket } from "node:net"
import { expect, test } from "vitest"

import { HttpTransport } from "./http-transport.ts"

test("drops an idle connection before vLLM's server would", async () => {
  const server = createServer((_, response) => response.end("{}"))
  // Its answers say so as well.
  server.keepAliveTimeout = 5_000
  const closed = Promise.withResolvers<number>()
  server.on("connection", (socket: Socket) => {
    const opened = performance.now()
    socket.on("end", () => closed.resolve(performance.now() - opened))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  const transport = new HttpTransport({ server: "test", apiKey: undefined, timeoutMs: 1000 })
  try {
    await transport.json({ url: `http://127.0.0.1:${port}/` })
    const openMs = await closed.promise
    expect(openMs).toBeGreaterThan(1000)
    expect(openMs).toBeLessThan(5000)
  } finally {
    await transport.close()
    server.close()
  }
})
