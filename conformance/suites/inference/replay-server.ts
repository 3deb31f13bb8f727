import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

import { asObject, type Json, type Transcript } from "./transcript.ts"

/** Plays one recorded answer at a time over HTTP and keeps what it was asked. */
export interface ReplayServer {
  url: string
  play(transcript: Transcript): void
  /** Bodies that came to the recorded path since `play`. */
  asked: Json[]
  close(): Promise<void>
}

export async function startReplayServer(): Promise<ReplayServer> {
  let current: Transcript | undefined
  const asked: Json[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on("data", (piece: Buffer) => pieces.push(piece))
    request.on("end", () => {
      const send = (status: number, body: unknown): void => {
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body))
      }
      if (current === undefined) return send(500, { error: { message: "nothing to play" } })
      if (request.url !== current.request.path) {
        // What an adapter asks a server about itself before its first request.
        const stock = current.server === "vllm" && request.url === "/version"
        if (stock) return send(200, { version: "0.33.0" })
        if (current.server === "atropos-vllm" && request.url === "/bridge/info") return send(200, {})
        if (request.url === "/inference/v1/generate") return send(403, { error: { message: "off", code: 403 } })
        return send(404, { detail: `the transcript is of ${current.request.path}` })
      }
      const text = Buffer.concat(pieces).toString()
      const question = text === "" ? {} : asObject(JSON.parse(text))
      // One token, to see whether the route is on.
      if (current.response.sse !== undefined && question["stream"] !== true) return send(200, { choices: [] })
      asked.push(question)
      const { status, headers, body, text: plain, sse } = current.response
      response.writeHead(status, headers)
      if (sse === undefined) response.end(plain ?? (body === undefined ? "" : JSON.stringify(body)))
      else response.end(writeEvents(sse))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    play(transcript) {
      current = transcript
      asked.length = 0
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** The recordings leave the empty lines out; an event ends with its data line. */
function writeEvents(lines: readonly string[]): string {
  return lines.map((line) => (line.startsWith("event:") ? `${line}\n` : `${line}\n\n`)).join("")
}
