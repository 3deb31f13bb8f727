import { Agent, request as sendRequest } from "node:http"
import { brotliDecompressSync, gunzipSync, gzipSync, inflateSync } from "node:zlib"

import type { WireRequest } from "./transcript.ts"

export interface WireAnswer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** After content decoding. */
  text: string
}

const decoders: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
}

/** Sends requests exactly as written, bodies of GET too, over connections that stay open. */
export class Exchange {
  readonly #agent = new Agent({ keepAlive: true })
  readonly #url: string

  constructor(url: string) {
    this.#url = url
  }

  async send(request: WireRequest): Promise<WireAnswer> {
    let answer = await this.#sendOnce(request)
    for (let hops = 0; request.follow && answer.status >= 300 && answer.status < 400 && hops < 5; hops++) {
      const { pathname, search } = new URL(String(answer.headers["location"]), this.#url + request.path)
      answer = await this.#sendOnce({ ...request, path: pathname + search })
    }
    return answer
  }

  close(): void {
    this.#agent.destroy()
  }

  #sendOnce(request: WireRequest): Promise<WireAnswer> {
    const body = request.gzip && request.body !== null ? gzipSync(request.body) : request.body
    const headers = new Map<string, string | number | null>()
    if (body !== null) headers.set("content-type", "application/json").set("content-length", body.length)
    if (request.gzip) headers.set("content-encoding", "gzip")
    for (const [name, value] of request.headers) headers.set(name, value)
    const sent = Object.fromEntries(
      [...headers].filter((entry): entry is [string, string | number] => entry[1] !== null),
    )
    const target = new URL(this.#url)
    const { promise, resolve, reject } = Promise.withResolvers<WireAnswer>()
    const outgoing = sendRequest(
      {
        agent: this.#agent,
        host: target.hostname,
        port: target.port,
        method: request.method,
        path: request.path,
        headers: sent,
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
        incoming.on("error", reject)
        incoming.on("end", () => {
          try {
            const raw = Buffer.concat(chunks)
            const encoding = incoming.headers["content-encoding"]
            const decode = encoding === undefined || raw.length === 0 ? undefined : decoders[encoding]
            const text = (decode === undefined ? raw : decode(raw)).toString()
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, text })
          } catch (error) {
            reject(error)
          }
        })
      },
    )
    outgoing.on("error", reject)
    outgoing.end(body ?? undefined)
    return promise
  }
}
