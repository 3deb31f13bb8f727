import type { IncomingMessage, ServerResponse } from "node:http"

import type { JsonObject } from "../transport/read.ts"

const largestBody = 64 * 1024 * 1024

/** One request to the stub, read whole, and the ways to answer it. */
export class StubCall {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  readonly text: string
  body: JsonObject = {}
  /** Aborted when the client goes away. */
  readonly signal: AbortSignal
  readonly #response: ServerResponse

  constructor(request: IncomingMessage, response: ServerResponse, text: string) {
    const url = request.url ?? "/"
    const mark = url.indexOf("?")
    this.method = request.method ?? "GET"
    this.path = mark === -1 ? url : url.slice(0, mark)
    this.query = new URLSearchParams(mark === -1 ? "" : url.slice(mark + 1))
    this.headers = request.headers
    this.text = text
    this.#response = response
    const gone = new AbortController()
    response.on("close", () => gone.abort())
    this.signal = gone.signal
  }

  get answered(): boolean {
    return this.#response.headersSent
  }

  json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): void {
    this.send(status, JSON.stringify(body), { "content-type": "application/json", ...headers })
  }

  send(status: number, text: string, headers: Readonly<Record<string, string>> = {}): void {
    this.#response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) }).end(text)
  }

  /** Writes one event of a stream; the first one opens it. */
  event(data: unknown): void {
    if (!this.#response.headersSent) {
      this.#response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" })
    }
    this.#response.write(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`)
  }

  endEvents(): void {
    this.event("[DONE]")
    this.#response.end()
  }

  /** Ends the connection without a word. */
  cut(): void {
    this.#response.destroy()
  }
}

/** The body as text; undefined when it is too large. */
export function readText(request: IncomingMessage): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let size = 0
    request.on("data", (piece: Buffer) => {
      size += piece.length
      if (size <= largestBody) pieces.push(piece)
    })
    request.on("end", () => resolve(size > largestBody ? undefined : Buffer.concat(pieces).toString()))
    request.on("error", reject)
  })
}
