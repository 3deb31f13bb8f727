import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { once } from "node:events"

export interface CuttingProxy {
  url: string
  /** How many of the next connections are cut: when the request is through, or when an answer begins. */
  cuts: number
  cutAt: "request" | "answer"
  close(): Promise<void>
}

/** Stands before a server and cuts connections, on both sides, as often as told. Requests must fit one piece. */
export async function startCuttingProxy(target: string): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      // A cut on one side is a cut on the other; what became of it is for the peers to find out.
      socket.on("error", () => {}).on("close", () => sockets.delete(socket))
    }
    const passes = (at: CuttingProxy["cutAt"]): boolean => {
      if (proxy.cuts === 0 || proxy.cutAt !== at) return true
      proxy.cuts -= 1
      return false
    }
    client.on("close", () => upstream.destroy())
    upstream.on("close", () => client.destroy())
    client.on("data", (data) => {
      const cut = !passes("request")
      upstream.write(data, () => cut && upstream.destroy())
    })
    upstream.on("data", (data) => {
      if (passes("answer")) client.write(data)
      else upstream.destroy()
    })
  })
  const proxy: CuttingProxy = {
    url: "",
    cuts: 0,
    cutAt: "request",
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, "close")
    },
  }
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  proxy.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}
