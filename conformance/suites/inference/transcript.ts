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

export function readTranscript(file: string): Transcript {
  return JSON.parse(readFileSync(file, "utf8")) as Transcript
}

export function asObject(value: unknown): Json {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}
}

export function asArray(value: unknown): unknown[] {
  return Array.isArray(value) ? value : []
}
