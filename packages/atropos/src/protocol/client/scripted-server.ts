import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { buffer } from "node:stream/consumers"
import { gunzipSync } from "node:zlib"

/** What the server does with a request. */
export type Step =
  | { answer: unknown; status?: number; headers?: Record<string, string> }
  | { text: string; status?: number; headers?: Record<string, string> }
  /** Cuts the connection: when the request has come, or in the middle of the answer. */
  | { cut: "before-answer" | "in-answer" }
  /** Never answers. */
  | { hang: true }

export interface SeenRequest {
  method: string
  path: string
  headers: IncomingMessage["headers"]
  body: unknown
}

export interface ScriptedServer {
  url: string
  /** What came, in order. */
  seen: SeenRequest[]
  /** What to do with the next requests; afterwards `otherwise`. */
  script: Step[]
  otherwise: (request: SeenRequest) => Step
  /** Connections that were opened. */
  connections: number
  close(): Promise<void>
}

/** A server that misbehaves as told, and remembers what it was sent. */
export async function startScriptedServer(script: Step[] = [], port = 0): Promise<ScriptedServer> {
  const server = createServer((request, response) => void respond(request, response))
  const scripted: ScriptedServer = {
    url: "",
    seen: [],
    script,
    otherwise: ({ path }) =>
      path === "/scored_data_list"
        ? { answer: { status: "received", groups_processed: 1 } }
        : { answer: { status: "received" } },
    connections: 0,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  server.on("connection", () => (scripted.connections += 1))

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await buffer(request)
    const bytes = request.headers["content-encoding"] === "gzip" ? gunzipSync(sent) : sent
    const body: unknown = bytes.length === 0 ? null : JSON.parse(bytes.toString())
    const { method = "", url = "", headers } = request
    const seen = { method, path: url, headers, body }
    scripted.seen.push(seen)
    const step = scripted.script.shift() ?? scripted.otherwise(seen)
    if ("hang" in step) return
    if ("cut" in step) {
      if (step.cut === "in-answer") response.writeHead(200, { "content-length": "100" }).write('{"status":')
      // The first bytes are to arrive before the end does.
      setImmediate(() => request.socket.destroy())
      return
    }
    const text = "text" in step ? step.text : JSON.stringify(step.answer)
    response.writeHead(step.status ?? 200, { "content-type": "application/json", ...step.headers }).end(text)
  }

  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve))
  scripted.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return scripted
}
