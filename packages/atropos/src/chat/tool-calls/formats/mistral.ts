import { scanCallList, writeCallList } from "../json-call.ts"
import { expectText, INVALID, PARTIAL, scanJson, scanName, skipSpace } from "../scan.ts"
import type { Match, ToolCallFormat } from "../tool-call.ts"

const marker = "[TOOL_CALLS]"

/** Both generations write the same marker, and what follows tells them apart: a list, or a name. */
function matchMistral(text: string, at: number): Match {
  const start = skipSpace(text, at + marker.length)
  if (start === text.length) return "partial"
  if (text[start] === "[") {
    const list = scanCallList(text, start)
    if (list === PARTIAL) return "partial"
    return list === INVALID ? { resume: at + marker.length } : list
  }
  return matchNamed(text, start, at + marker.length)
}

/** `name[CALL_ID]id[ARGS]{…}`, the middle parts optional. */
function matchNamed(text: string, start: number, resume: number): Match {
  const nameEnd = scanName(text, start)
  if (nameEnd === PARTIAL) return "partial"
  if (nameEnd === INVALID) return { resume }
  const name = text.slice(start, nameEnd)
  let at = nameEnd
  let id: string | undefined
  const afterId = expectText(text, at, "[CALL_ID]")
  if (afterId === PARTIAL) return "partial"
  if (afterId > 0) {
    at = scanName(text, afterId)
    if (at === PARTIAL) return "partial"
    if (at === INVALID) return { resume }
    id = text.slice(afterId, at)
  }
  const afterArgs = expectText(text, at, "[ARGS]")
  if (afterArgs === PARTIAL) return "partial"
  const open = skipSpace(text, afterArgs > 0 ? afterArgs : at)
  if (open === text.length) return "partial"
  const end = text[open] === "{" ? scanJson(text, open) : INVALID
  if (end === PARTIAL) return "partial"
  if (end === INVALID) return { resume }
  return { calls: [{ name, arguments: text.slice(open, end), ...(id === undefined ? {} : { id }) }], end }
}

/** Up to tokenizer version 7: `[TOOL_CALLS] [{…}, {…}]`. */
export const mistral: ToolCallFormat = {
  name: "mistral",
  markers: [marker],
  closers: "]}",
  match: matchMistral,
  write: (calls) => `${marker} ${writeCallList(calls)}`,
}

/** From tokenizer version 11: `[TOOL_CALLS]name[ARGS]{…}` for each call. */
export const mistralV11: ToolCallFormat = {
  name: "mistral_v11",
  markers: [marker],
  closers: "]}",
  match: matchMistral,
  write: (calls) => calls.map((call) => `${marker}${call.name}[ARGS]${call.arguments}`).join(""),
}
