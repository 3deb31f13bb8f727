import { expectText, findText, INVALID, PARTIAL, scanJson, scanName, skipSpace } from "../scan.ts"
import type { ToolCallFormat } from "../tool-call.ts"

const quote = '<|"|>'
const maxDepth = 200

/** `<|tool_call>call:name{key:<|"|>text<|"|>,list:[1,2]}<tool_call|>`: bare keys, strings in a token of their own. */
export const gemma4: ToolCallFormat = {
  name: "gemma4",
  markers: ["<|tool_call>"],
  closers: ">",
  match(text, at) {
    const resume = { resume: at + 1 }
    const head = expectText(text, skipSpace(text, at + "<|tool_call>".length), "call:")
    if (head === PARTIAL) return "partial"
    if (head === INVALID) return resume
    const nameEnd = scanName(text, head)
    if (nameEnd === PARTIAL) return "partial"
    if (nameEnd === INVALID || text[nameEnd] !== "{") return resume
    const value = scanValue(text, nameEnd, 0)
    if (value === PARTIAL) return "partial"
    if (value === INVALID) return resume
    const end = expectText(text, skipSpace(text, value.end), "<tool_call|>")
    if (end === PARTIAL) return "partial"
    return end === INVALID ? resume : { calls: [{ name: text.slice(head, nameEnd), arguments: value.json }], end }
  },
  write: (calls) =>
    calls.map((call) => `<|tool_call>call:${call.name}${writeValue(JSON.parse(call.arguments))}<tool_call|>`).join(""),
}

type Value = { json: string; end: number } | typeof PARTIAL | typeof INVALID

function scanValue(text: string, at: number, depth: number): Value {
  if (depth > maxDepth) return INVALID
  const start = skipSpace(text, at)
  const first = text[start]
  if (first === undefined) return PARTIAL
  if (first === "{" || first === "[") return scanContainer(text, start, depth)
  if (first === "<") {
    const open = expectText(text, start, quote)
    if (open === PARTIAL || open === INVALID) return open
    const close = findText(text, open, quote)
    return close === PARTIAL ? PARTIAL : { json: JSON.stringify(text.slice(open, close)), end: close + quote.length }
  }
  // The template prints what Python calls null.
  if (first === "N") {
    const end = expectText(text, start, "None")
    return end === PARTIAL || end === INVALID ? end : { json: "null", end }
  }
  const end = scanJson(text, start)
  if (end === PARTIAL || end === INVALID) return end
  return { json: text.slice(start, end), end }
}

function scanContainer(text: string, start: number, depth: number): Value {
  const isObject = text[start] === "{"
  const close = isObject ? "}" : "]"
  const parts: string[] = []
  let index = skipSpace(text, start + 1)
  while (text[index] !== close) {
    if (index >= text.length) return PARTIAL
    let key = ""
    if (isObject) {
      const colon = findText(text, index, ":")
      if (colon === PARTIAL) return PARTIAL
      const bare = text.slice(index, colon).trim()
      if (bare === "" || /[{}[\],]/.test(bare)) return INVALID
      key = `${JSON.stringify(bare.startsWith(quote) && bare.endsWith(quote) ? bare.slice(quote.length, -quote.length) : bare)}: `
      index = colon + 1
    }
    const value = scanValue(text, index, depth + 1)
    if (value === PARTIAL || value === INVALID) return value
    parts.push(key + value.json)
    index = skipSpace(text, value.end)
    if (text[index] === ",") index = skipSpace(text, index + 1)
    else if (index < text.length && text[index] !== close) return INVALID
  }
  return { json: isObject ? `{${parts.join(", ")}}` : `[${parts.join(", ")}]`, end: index + 1 }
}

function writeValue(value: unknown): string {
  if (typeof value === "string") return quote + value + quote
  if (Array.isArray(value)) return `[${value.map(writeValue).join(",")}]`
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .map(([key, item]) => `${key}:${writeValue(item)}`)
      .join(",")}}`
  }
  return JSON.stringify(value)
}
