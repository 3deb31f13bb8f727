import { readTypedValue, writeTypedValue } from "../schema-values.ts"
import { expectText, findText, INVALID, PARTIAL, scanName, skipSpace } from "../scan.ts"
import type { FunctionTool, Match, ToolCall, ToolCallFormat } from "../tool-call.ts"

const argumentEntries = (call: ToolCall): [string, unknown][] =>
  Object.entries(JSON.parse(call.arguments) as Record<string, unknown>)

const toArguments = (members: Map<string, string>): string =>
  `{${[...members].map(([key, value]) => `${JSON.stringify(key)}: ${value}`).join(", ")}}`

/** `<function=name><parameter=key>value</parameter></function>` from `at` on. */
function matchFunctionTag(text: string, at: number, resume: number, tools: readonly FunctionTool[]): Match {
  const nameStart = expectText(text, skipSpace(text, at), "<function=")
  if (nameStart === PARTIAL) return "partial"
  if (nameStart === INVALID) return { resume }
  const nameEnd = scanName(text, nameStart)
  if (nameEnd === PARTIAL) return "partial"
  if (nameEnd === INVALID || text[nameEnd] !== ">") return { resume }
  const name = text.slice(nameStart, nameEnd)
  const members = new Map<string, string>()
  let index = skipSpace(text, nameEnd + 1)
  for (;;) {
    const end = expectText(text, index, "</function>")
    if (end > 0) return { calls: [{ name, arguments: toArguments(members) }], end }
    const keyStart = expectText(text, index, "<parameter=")
    if (end === PARTIAL || keyStart === PARTIAL) return "partial"
    if (keyStart === INVALID) return { resume }
    const keyEnd = findText(text, keyStart, ">")
    const valueEnd = keyEnd === PARTIAL ? PARTIAL : findText(text, keyEnd, "</parameter>")
    if (valueEnd === PARTIAL) return "partial"
    const key = text.slice(keyStart, keyEnd)
    members.set(key, readTypedValue(withoutFrame(text.slice(keyEnd + 1, valueEnd)), name, key, tools))
    index = skipSpace(text, valueEnd + "</parameter>".length)
  }
}

/** The line breaks that the template writes around a value are not part of it. */
function withoutFrame(value: string): string {
  return value.replace(/^\n/, "").replace(/\n$/, "")
}

const afterEndTag = (text: string, match: Match, endTag: string): Match => {
  if (match === "partial" || "resume" in match) return match
  const end = expectText(text, skipSpace(text, match.end), endTag)
  return end > 0 ? { ...match, end } : match
}

/** `<tool_call>` around a function tag; models leave the outer tags out at times. */
export const qwen3Coder: ToolCallFormat = {
  name: "qwen3_coder",
  markers: ["<tool_call>", "<function="],
  closers: ">",
  match(text, at, { tools }) {
    const wrapped = text.startsWith("<tool_call>", at)
    const match = matchFunctionTag(text, wrapped ? at + "<tool_call>".length : at, at + 1, tools)
    return afterEndTag(text, match, "</tool_call>")
  },
  write: (calls) =>
    calls
      .map((call) => {
        const parameters = argumentEntries(call).map(
          ([key, value]) => `<parameter=${key}>\n${writeTypedValue(value)}\n</parameter>\n`,
        )
        return `<tool_call>\n<function=${call.name}>\n${parameters.join("")}</function>\n</tool_call>`
      })
      .join("\n"),
}

export const seedOss: ToolCallFormat = {
  name: "seed_oss",
  markers: ["<seed:tool_call>"],
  closers: ">",
  match(text, at, { tools }) {
    const match = matchFunctionTag(text, at + "<seed:tool_call>".length, at + 1, tools)
    return afterEndTag(text, match, "</seed:tool_call>")
  },
  write: (calls) =>
    calls
      .map((call) => {
        const parameters = argumentEntries(call).map(
          ([key, value]) => `<parameter=${key}>${writeTypedValue(value)}</parameter>\n`,
        )
        return `<seed:tool_call>\n<function=${call.name}>\n${parameters.join("")}</function>\n</seed:tool_call>`
      })
      .join("\n"),
}

/** `<tool_call>name<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`; only the end tag completes it. */
function matchGlm(text: string, at: number, tools: readonly FunctionTool[]): Match {
  const nameStart = skipSpace(text, at + "<tool_call>".length)
  if (nameStart === text.length) return "partial"
  const nameEnd = scanName(text, nameStart)
  if (nameEnd === PARTIAL) return "partial"
  if (nameEnd === INVALID) return { resume: at + 1 }
  const name = text.slice(nameStart, nameEnd)
  const members = new Map<string, string>()
  let index = skipSpace(text, nameEnd)
  for (;;) {
    const end = expectText(text, index, "</tool_call>")
    if (end > 0) return { calls: [{ name, arguments: toArguments(members) }], end }
    const keyStart = expectText(text, index, "<arg_key>")
    if (end === PARTIAL || keyStart === PARTIAL) return "partial"
    if (keyStart === INVALID) return { resume: at + 1 }
    const keyEnd = findText(text, keyStart, "</arg_key>")
    if (keyEnd === PARTIAL) return "partial"
    const valueStart = expectText(text, skipSpace(text, keyEnd + "</arg_key>".length), "<arg_value>")
    if (valueStart === PARTIAL) return "partial"
    if (valueStart === INVALID) return { resume: at + 1 }
    const valueEnd = findText(text, valueStart, "</arg_value>")
    if (valueEnd === PARTIAL) return "partial"
    const key = text.slice(keyStart, keyEnd).trim()
    members.set(key, readTypedValue(text.slice(valueStart, valueEnd), name, key, tools))
    index = skipSpace(text, valueEnd + "</arg_value>".length)
  }
}

function glmFormat(name: string, lineBreak: string): ToolCallFormat {
  return {
    name,
    markers: ["<tool_call>"],
    closers: ">",
    match: (text, at, { tools }) => matchGlm(text, at, tools),
    write: (calls) =>
      calls
        .map((call) => {
          const pairs = argumentEntries(call).map(
            ([key, value]) =>
              `<arg_key>${key}</arg_key>${lineBreak}<arg_value>${writeTypedValue(value)}</arg_value>${lineBreak}`,
          )
          return `<tool_call>${call.name}${lineBreak}${pairs.join("")}</tool_call>`
        })
        .join(lineBreak),
  }
}

export const glm45 = glmFormat("glm45", "\n")
export const glm47 = glmFormat("glm47", "")
