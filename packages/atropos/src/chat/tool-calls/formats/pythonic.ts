import { scanPythonCall, scanPythonCallList, writePythonCall } from "../python-calls.ts"
import { expectText, INVALID, PARTIAL, skipSpace } from "../scan.ts"
import type { Match, ToolCall, ToolCallFormat } from "../tool-call.ts"

function matchList(text: string, at: number, open: number): Match {
  const list = scanPythonCallList(text, open)
  if (list === PARTIAL) return "partial"
  return list === INVALID ? { resume: at + 1 } : list
}

const writeList = (calls: readonly ToolCall[]): string => `[${calls.map(writePythonCall).join(", ")}]`

/** `[name(key="value"), …]`, perhaps after a token that opens it. */
function pythonicFormat(name: string, start: string): ToolCallFormat {
  return {
    name,
    markers: [start, "["],
    closers: "]",
    match(text, at) {
      if (!text.startsWith(start, at)) return matchList(text, at, at)
      const open = skipSpace(text, at + start.length)
      if (open === text.length) return "partial"
      return text[open] === "[" ? matchList(text, at, open) : { resume: at + start.length }
    },
    write: writeList,
  }
}

/** The token is LFM 2's. */
export const pythonic = pythonicFormat("pythonic", "<|tool_call_start|>")

export const llama4Pythonic = pythonicFormat("llama4_pythonic", "<|python_start|>")

/** One call a line between `<function_calls>` tags; the end tag closes the list. */
export const olmo3: ToolCallFormat = {
  name: "olmo3",
  markers: ["<function_calls>"],
  closers: ">",
  match(text, at) {
    const calls: ToolCall[] = []
    let index = skipSpace(text, at + "<function_calls>".length)
    for (;;) {
      const end = expectText(text, index, "</function_calls>")
      if (end === PARTIAL) return "partial"
      if (end > 0) return calls.length > 0 ? { calls, end } : { resume: end }
      const found = scanPythonCall(text, index)
      if (found === PARTIAL) return "partial"
      if (found === INVALID) return { resume: at + 1 }
      calls.push(found.call)
      index = skipSpace(text, found.end)
    }
  },
  write: (calls) => `<function_calls>\n${calls.map(writePythonCall).join("\n")}\n</function_calls>`,
}
