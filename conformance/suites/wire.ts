import { readFileSync } from "node:fs"
import { basename } from "node:path"

import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../packages/atropos/src/server/trajectory-server.ts"
import type { Suite, Verdict } from "../runner/suite.ts"
import { type DistinctValues, findDetailDifference, findDifference } from "./wire/compare.ts"
import { Exchange, type WireAnswer } from "./wire/exchange.ts"
import { isLiteralObject, type LiteralJson, parseLiteralJson } from "./wire/literal-json.ts"
import { type ExpectedAnswer, readTranscript, type Transcript } from "./wire/transcript.ts"

/**
 * Transcripts of the trajectory server, against a listening one: a server of this process, or the one that
 * ATROPOS_WIRE_URL names (it is reset before each scenario).
 */
export const suite: Suite = {
  name: "wire",
  vectors: "wire",
  accepts: (file) => file.endsWith(".json") && looksLikeTranscript(file),
  async run(files, report) {
    const given = process.env["ATROPOS_WIRE_URL"]
    const server = given === undefined ? createTrajectoryServer({ store: createMemoryStore() }) : null
    const url = given ?? (await server?.listen({ host: "127.0.0.1", port: 0 })) ?? ""
    const exchange = new Exchange(url)
    try {
      for (const file of files) report(basename(file, ".json"), await runFile(file, exchange))
    } finally {
      exchange.close()
      await server?.close()
    }
  },
}

function looksLikeTranscript(file: string): boolean {
  return /"steps"\s*:/.test(readFileSync(file, "utf8"))
}

async function runFile(file: string, exchange: Exchange): Promise<Verdict> {
  try {
    const difference = await runTranscript(readTranscript(readFileSync(file, "utf8")), exchange)
    return difference === null ? { verdict: "passed" } : { verdict: "failed", difference }
  } catch (error) {
    return { verdict: "failed", difference: String(error) }
  }
}

/** The first difference of a scenario, or null. The server is reset before. */
export async function runTranscript(transcript: Transcript, exchange: Exchange): Promise<string | null> {
  await exchange.send({
    method: "GET",
    path: "/reset_data",
    headers: new Map(),
    body: null,
    gzip: false,
    follow: false,
  })
  const distinct: DistinctValues = new Map()
  for (const [index, { request, expected }] of transcript.steps.entries()) {
    const answer = await exchange.send(request)
    const difference = compareAnswer(expected, answer, distinct)
    if (difference !== null) return `step ${index + 1} (${request.method} ${request.path}) ${difference}`
  }
  return null
}

function compareAnswer(expected: ExpectedAnswer, answer: WireAnswer, distinct: DistinctValues): string | null {
  if (answer.status !== expected.status) {
    return `status: expected ${expected.status}, received ${answer.status} ${answer.text.slice(0, 300)}`
  }
  for (const [name, wanted] of expected.headers) {
    const received = answer.headers[name]
    const value = name === "content-type" ? String(received).split(";")[0]?.trim() : received
    if ((value ?? null) !== wanted) return `header ${name}: expected ${wanted}, received ${String(value)}`
  }
  if (expected.text !== undefined && expected.text !== answer.text) {
    return `text: expected ${JSON.stringify(expected.text)}, received ${JSON.stringify(answer.text.slice(0, 300))}`
  }
  return expected.json === undefined ? null : compareJson(expected.status, expected.json, answer.text, distinct)
}

function compareJson(status: number, expected: LiteralJson, text: string, distinct: DistinctValues): string | null {
  const actual = parseLiteralJson(text)
  if (status !== 422 || !isLiteralObject(expected)) return findDifference(expected, actual, distinct)
  const detail = expected.entries.get("detail")
  if (!Array.isArray(detail)) return findDifference(expected, actual, distinct)
  const others = new Map([...expected.entries].filter(([key]) => key !== "detail"))
  return (
    findDifference({ entries: others }, actual, distinct) ??
    findDetailDifference(detail, isLiteralObject(actual) ? actual.entries.get("detail") : undefined)
  )
}
