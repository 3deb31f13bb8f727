import { scanCallList, scanCallObject, writeCallList, writeCallObject } from "../json-call.ts"
import { expectSpaced, expectText, INVALID, PARTIAL, scanJson, skipSpace } from "../scan.ts"
import type { Match, MatchOptions, ToolCallFormat } from "../tool-call.ts"

/** `<tool_call>` object `</tool_call>`; the end tag may be missing at the end of the text or before the next call. */
export const hermes: ToolCallFormat = {
  name: "hermes",
  markers: ["<tool_call>"],
  closers: "}>",
  match: (text, at, options) => matchTagged(text, at + "<tool_call>".length, "</tool_call>", "<tool_call>", options),
  write: (calls) => calls.map((call) => `<tool_call>\n${writeCallObject(call, "arguments")}\n</tool_call>`).join("\n"),
}

export const internlm: ToolCallFormat = {
  name: "internlm",
  markers: ["<|action_start|>"],
  closers: "}>",
  match(text, at, options) {
    const inner = expectSpaced(text, at + "<|action_start|>".length, "<|plugin|>")
    if (inner === PARTIAL) return "partial"
    if (inner === INVALID) return { resume: at + 1 }
    return matchTagged(text, inner, "<|action_end|>", "<|action_start|>", options)
  },
  write: (calls) =>
    calls.map((call) => `<|action_start|><|plugin|>\n${writeCallObject(call, "parameters")}<|action_end|>`).join(""),
}

function matchTagged(text: string, inner: number, endTag: string, startTag: string, options: MatchOptions): Match {
  const found = scanCallObject(text, inner, "empty")
  if (found === PARTIAL) return "partial"
  if (found === INVALID) return { resume: inner }
  const next = skipSpace(text, found.end)
  const end = expectText(text, next, endTag)
  if (end > 0) return { calls: [found.call], end }
  if (end === PARTIAL) return options.final ? { calls: [found.call], end: text.length } : "partial"
  const another = expectText(text, next, startTag)
  if (another === PARTIAL && !options.final) return "partial"
  return another === INVALID ? { resume: inner } : { calls: [found.call], end: next }
}

const pythonTags = ["<|python_tag|>", "<|python_start|>"]

/**
 * Bare objects with `name` and `parameters`, perhaps after `<|python_tag|>` (Llama 4: `<|python_start|>`, whose end tag
 * may come at once), separated by anything.
 */
export const llama3Json: ToolCallFormat = {
  name: "llama3_json",
  markers: [...pythonTags, "{"],
  closers: "}",
  match(text, at) {
    const tag = pythonTags.find((candidate) => text.startsWith(candidate, at)) ?? ""
    const endTag = tag === "" ? INVALID : expectSpaced(text, at + tag.length, "<|python_end|>")
    if (endTag === PARTIAL) return "partial"
    const start = skipSpace(text, endTag === INVALID ? at + tag.length : endTag)
    const found = scanCallObject(text, start, "refused")
    if (found === PARTIAL) return "partial"
    if (found !== INVALID) return { calls: [found.call], end: found.end }
    // Objects inside an object that is no call are none either.
    const end = scanJson(text, start)
    return { resume: text[start] === "{" && end > start ? end : Math.max(at + 1, start) }
  },
  write: (calls) => calls.map((call) => writeCallObject(call, "parameters")).join("; "),
}

/** A format that is one JSON list of calls after a marker. */
function listFormat(options: {
  name: string
  markers: readonly string[]
  /** What closes the list; it may be missing at the end of the text. */
  endTag?: string
  write: (list: string) => string
}): ToolCallFormat {
  return {
    name: options.name,
    markers: options.markers,
    closers: "]>",
    match(text, at, { final }) {
      const marker = options.markers.find((candidate) => text.startsWith(candidate, at)) ?? ""
      const list = scanCallList(text, at + marker.length)
      if (list === PARTIAL) return "partial"
      if (list === INVALID) return { resume: skipList(text, at + marker.length) }
      if (options.endTag === undefined) return list
      const end = expectSpaced(text, list.end, options.endTag)
      if (end === PARTIAL) return final ? { ...list, end: text.length } : "partial"
      return end === INVALID ? { resume: list.end } : { ...list, end }
    },
    write: (calls) => options.write(writeCallList(calls)),
  }
}

/** Past a list that is valid JSON but no list of calls, so that lists inside it are not looked at; else past its first character. */
function skipList(text: string, at: number): number {
  const end = scanJson(text, at)
  return end > at ? end : at + 1
}

export const granite = listFormat({
  name: "granite",
  markers: ["<|tool_call|>", "<tool_call>"],
  write: (list) => `<|tool_call|>${list}`,
})

export const jamba = listFormat({
  name: "jamba",
  markers: ["<tool_calls>"],
  endTag: "</tool_calls>",
  write: (list) => `<tool_calls>${list}</tool_calls>`,
})

export const phi4Mini = listFormat({ name: "phi4_mini", markers: ["functools"], write: (list) => `functools${list}` })

const taggedXlam = listFormat({ name: "xlam", markers: ["```json", "<tool_call>"], write: (list) => list })

/** A bare list that is all of the answer (a think block may stand before it), or one in a code fence or tag. */
export const xlam: ToolCallFormat = {
  ...taggedXlam,
  markers: [...taggedXlam.markers, "["],
  match(text, at, options) {
    if (text[at] !== "[") return taggedXlam.match(text, at, options)
    const before = text.slice(0, at).trimEnd()
    const list = before === "" || before.endsWith("</think>") ? scanCallList(text, at) : INVALID
    if (list === PARTIAL) return "partial"
    if (list === INVALID) return { resume: skipList(text, at) }
    if (skipSpace(text, list.end) < text.length) return { resume: list.end }
    return options.final ? list : "partial"
  },
}
