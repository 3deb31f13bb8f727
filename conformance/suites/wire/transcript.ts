import {
  isLiteralNumber,
  isLiteralObject,
  type LiteralJson,
  parseLiteralJson,
  writeLiteralJson,
} from "./literal-json.ts"

export interface WireRequest {
  method: string
  path: string
  /** null: the header is not sent. */
  headers: ReadonlyMap<string, string | null>
  body: Buffer | null
  gzip: boolean
  follow: boolean
}

export interface ExpectedAnswer {
  status: number
  headers: ReadonlyMap<string, string | null>
  text: string | undefined
  json: LiteralJson | undefined
}

export interface WireStep {
  request: WireRequest
  expected: ExpectedAnswer
}

export interface Transcript {
  name: string
  steps: WireStep[]
}

/** Reads one scenario; throws when the text is none. */
export function readTranscript(text: string): Transcript {
  const root = fields(parseLiteralJson(text), "the transcript")
  const steps = root.get("steps")
  if (!Array.isArray(steps)) throw new SyntaxError("a transcript has a list of steps")
  return { name: string(root.get("name")) ?? "", steps: steps.map(readStep) }
}

function readStep(value: LiteralJson): WireStep {
  const step = fields(value, "a step")
  const request = fields(step.get("request"), "a request")
  const response = fields(step.get("response"), "a response")
  const status = response.get("status")
  return {
    request: {
      method: string(request.get("method")) ?? "GET",
      path: string(request.get("path")) ?? "/",
      headers: readHeaders(request.get("headers")),
      body: readBody(request),
      gzip: request.get("gzip") === true,
      follow: request.get("follow") === true,
    },
    expected: {
      status: status !== undefined && isLiteralNumber(status) ? Number(status.literal) : 200,
      headers: readHeaders(response.get("headers")),
      text: string(response.get("text")),
      json: response.get("json"),
    },
  }
}

function readBody(request: ReadonlyMap<string, LiteralJson>): Buffer | null {
  const json = request.get("json")
  if (json !== undefined) return Buffer.from(writeLiteralJson(json))
  const text = string(request.get("text"))
  if (text !== undefined) return Buffer.from(text)
  const base64 = string(request.get("base64"))
  return base64 === undefined ? null : Buffer.from(base64, "base64")
}

function readHeaders(value: LiteralJson | undefined): Map<string, string | null> {
  const headers = new Map<string, string | null>()
  if (value === undefined) return headers
  for (const [name, item] of fields(value, "headers")) headers.set(name.toLowerCase(), string(item) ?? null)
  return headers
}

function fields(value: LiteralJson | undefined, what: string): ReadonlyMap<string, LiteralJson> {
  if (value === undefined || !isLiteralObject(value)) throw new SyntaxError(`${what} is an object`)
  return value.entries
}

function string(value: LiteralJson | undefined): string | undefined {
  return typeof value === "string" ? value : undefined
}
