import { readFileSync } from "node:fs"

export type Json = Record<string, unknown>

/** One recorded exchange with a real server. */
export interface Transcript {
  name: string
  server: "vllm" | "sglang" | "trl" | "openai" | "openrouter" | "atropos-vllm"
  version: string
  request: { method: "GET" | "POST"; path: string; headers?: Json; body?: Json; rawBody?: string }
  response: { status: number; headers: Record<string, string>; body?: unknown; text?: string; sse?: string[] }
}

/** Undefined for a file that holds something else. */
export function readTranscript(file: string): Transcript | undefined {
  const parsed: unknown = JSON.parse(readFileSync(file, "utf8"))
  const { name, request, response } = asObject(parsed)
  return typeof name === "string" && typeof asObject(request)["path"] === "string" && response !== undefined
    ? (parsed as Transcript)
    : undefined
}

/** The parsed data of a stream's events, without its end. */
export function readEvents(lines: readonly string[] | undefined): Json[] {
  return (lines ?? [])
    .filter((line) => /^data: ?\{/.test(line))
    .map((line) => asObject(JSON.parse(line.slice("data:".length))))
}

export function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
