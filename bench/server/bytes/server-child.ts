// A process of its own for what is measured, so that its CPU time is the server's alone. It tells its address and,
// when asked, what it used. `server-child.ts atropos FOLDER` is the trajectory server with a run in FOLDER;
// `server-child.ts raw BYTES COUNT` a bare node:http server that answers with that many bytes, from COUNT bodies in turn.
import { syncBuiltinESMExports } from "node:module"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import zlib from "node:zlib"
import { openSqliteStore } from "../../../packages/atropos/src/server/stores/sqlite/sqlite-store.ts"
import { createTrajectoryServer } from "../../../packages/atropos/src/server/trajectory-server.ts"

export interface Usage {
  cpuMicros: number
  /** Calls that compress, and bytes of text written by JSON.stringify, on the main thread since the start. */
  compressions: number
  stringifiedChars: number
}

const usage: Usage = { cpuMicros: 0, compressions: 0, stringifiedChars: 0 }
countCalls()

const [kind, argument, count] = process.argv.slice(2)
const address = kind === "raw" ? await serveBytes(Number(argument), Number(count)) : await serveRun(argument ?? "")
process.on("message", () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ ...usage, cpuMicros: user + system })
})
process.send?.(address)

function countCalls(): void {
  const functions = zlib as unknown as Record<string, (...values: unknown[]) => unknown>
  for (const name of ["deflate", "deflateRaw", "gzip", "deflateSync", "deflateRawSync", "gzipSync"]) {
    const original = functions[name]
    if (original === undefined) throw new TypeError(`zlib has no ${name}`)
    functions[name] = (...values) => {
      usage.compressions += 1
      return original(...values)
    }
  }
  syncBuiltinESMExports()
  const { stringify } = JSON
  JSON.stringify = ((...values: Parameters<typeof stringify>) => {
    const text: string | undefined = stringify(...values)
    usage.stringifiedChars += text?.length ?? 0
    return text
  }) as typeof stringify
}

async function serveRun(directory: string): Promise<string> {
  const server = createTrajectoryServer({ store: await openSqliteStore({ directory }) })
  process.on("disconnect", () => void server.close().then(() => process.exit()))
  return server.listen({ host: "127.0.0.1", port: 0 })
}

async function serveBytes(bytes: number, count: number): Promise<string> {
  const bodies = Array.from({ length: count }, () => Buffer.alloc(bytes, "0123456789"))
  let next = 0
  const server = createServer((_, response) => {
    response.writeHead(200, { "content-length": bytes }).end(bodies[next++ % count])
  })
  process.on("disconnect", () => process.exit())
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
