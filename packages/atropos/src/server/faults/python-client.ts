import { request as httpRequest } from "node:http"
import { buffer } from "node:stream/consumers"
import { constants, gunzipSync, gzipSync } from "node:zlib"

/** One exchange of a recorded client, see conformance/vectors/clients. Numbers in `body` are kept as they were written. */
export interface Exchange {
  call: string
  headers?: Record<string, string>
  body?: unknown
  /** Bytes as sent, and before compression. */
  gzip?: unknown
  status: number | "aborted"
  answer?: unknown
  /** Who made the answer up, when it was not the server. */
  by?: string
}

export interface Transcript {
  name: string
  exchanges: Exchange[]
}

/** A number as it stood in the text. */
class Literal {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

export function parseTranscript(text: string): Transcript {
  const keep = (_key: string, value: unknown, context?: { source: string }): unknown =>
    typeof value === "number" && context !== undefined ? new Literal(context.source) : value
  const transcript = JSON.parse(text, keep) as Transcript
  for (const exchange of transcript.exchanges ?? []) exchange.status = plain(exchange.status) as Exchange["status"]
  return transcript
}

/** A value as Python's json.dumps writes it: `", "` and `": "` between things, ASCII only. */
export function pythonJson(value: unknown): string {
  if (value instanceof Literal) return value.text
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(", ")}]`
  if (typeof value === "object" && value !== null) {
    const entries = Object.entries(value).map(([key, inner]) => `${pythonJson(key)}: ${pythonJson(inner)}`)
    return `{${entries.join(", ")}}`
  }
  const escape = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escape)
}

/** The same with numbers as JavaScript has them. */
export function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(pythonJson(value))
}

export interface Answer {
  status: number
  contentType: string
  text: string
}

/**
 * Sends an exchange's request as the recorded client did: a body on a GET too, gzip where it had gzip, and a new
 * connection for each.
 */
export async function replay(url: string, exchange: Exchange, headers: Record<string, string>): Promise<Answer> {
  const [method, path = ""] = exchange.call.split(" ")
  const text = exchange.body === undefined ? null : Buffer.from(pythonJson(exchange.body))
  const packed = exchange.gzip !== undefined && text !== null
  const body = packed ? gzipSync(text, { level: constants.Z_BEST_COMPRESSION }) : text
  const sent: Record<string, string> = { ...headers }
  delete sent["Content-Encoding"]
  if (packed) sent["Content-Encoding"] = "gzip"
  if (body !== null) sent["Content-Length"] = String(body.length)
  return new Promise((resolve, reject) => {
    const call = httpRequest(url + path, { method, headers: sent, agent: false }, (response) => {
      buffer(response).then((bytes) => {
        const unpacked = response.headers["content-encoding"] === "gzip" ? gunzipSync(bytes) : bytes
        const contentType = response.headers["content-type"] ?? ""
        resolve({ status: response.statusCode ?? 0, contentType, text: unpacked.toString() })
      }, reject)
    })
    call.on("error", reject).end(body)
  })
}
