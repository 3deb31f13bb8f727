import { readFileSync } from "node:fs"

import {
  createToolCallParser,
  isToolCallFormat,
  parseToolCalls,
} from "../../packages/atropos/src/chat/tool-calls/formats.ts"
import type { FunctionTool, ParsedToolCalls } from "../../packages/atropos/src/chat/tool-calls/tool-call.ts"
import type { Suite, Verdict } from "../runner/suite.ts"
import { isDeepStrictEqual } from "node:util"

interface Case {
  id: string
  format: string
  text: string
  tools: FunctionTool[]
  expected: { content: string | null; calls: { name: string; arguments: unknown }[] }
}

export const suite: Suite = {
  name: "tool-calls",
  vectors: "tool-calls.jsonl",
  accepts: (file) => file.endsWith(".jsonl"),
  run(files, report) {
    for (const file of files) {
      for (const line of readFileSync(file, "utf8").split("\n")) {
        if (line.trim() === "") continue
        const one = JSON.parse(line) as Case
        report(one.id, check(one))
      }
    }
    return Promise.resolve()
  },
}

function check(one: Case): Verdict {
  if (!isToolCallFormat(one.format)) return { verdict: "skipped", reason: `no format named ${one.format}` }
  const whole = parseToolCalls(one.format, one.text, one.tools)
  const difference = compare(one, whole)
  if (difference !== undefined) return { verdict: "failed", difference }
  for (const size of [1, 2, 3, 7, 16]) {
    const streamed = parseInChunks(one, size)
    if (!isDeepStrictEqual(streamed, whole)) {
      return {
        verdict: "failed",
        difference: `in chunks of ${size}: ${JSON.stringify(streamed)}, whole: ${JSON.stringify(whole)}`,
      }
    }
  }
  return { verdict: "passed" }
}

function compare(one: Case, parsed: ParsedToolCalls): string | undefined {
  const calls = parsed.calls.map((call) => ({ name: call.name, arguments: JSON.parse(call.arguments) as unknown }))
  const content = (parsed.content ?? "").trim()
  if (content === (one.expected.content ?? "").trim() && isDeepStrictEqual(calls, one.expected.calls)) return undefined
  return `got ${JSON.stringify({ content, calls })}, expected ${JSON.stringify(one.expected)}`
}

/** What the deltas add up to, which must be what the parser says in the end. */
function parseInChunks(one: Case, size: number): ParsedToolCalls {
  const parser = createToolCallParser(one.format, one.tools)
  const deltas = []
  for (let at = 0; at < one.text.length; at += size) deltas.push(parser.push(one.text.slice(at, at + size)))
  deltas.push(parser.end())
  const content = deltas.map((delta) => delta.content).join("")
  return { content: content === "" ? null : content, calls: deltas.flatMap((delta) => delta.calls) }
}
