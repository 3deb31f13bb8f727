import { isJson, readTypedValue, writeTypedValue } from "../schema-values.ts"
import { expectText, findText, INVALID, PARTIAL, skipSpace } from "../scan.ts"
import type { Match, MatchOptions, ToolCall, ToolCallFormat } from "../tool-call.ts"

/** Tags of a family that writes `<invoke name="…">` with named parameters inside an outer tag. */
interface InvokeTags {
  name: string
  /** The outer tag's names; the first is the one written. */
  outer: readonly string[]
  /** Stands before each tag's name. */
  prefix: string
  /** Whether parameters say by an attribute if they are strings. */
  typed: boolean
}

/** Reads `name="value"` attributes up to `>`; undefined when the tag is not of that form. */
function readAttributes(tag: string): Map<string, string> | undefined {
  const attributes = new Map<string, string>()
  const pattern = /\s+([\w-]+)=(?:"([^"]*)"|'([^']*)')/y
  let end = 0
  for (let found = pattern.exec(tag); found !== null; found = pattern.exec(tag)) {
    attributes.set(found[1] ?? "", found[2] ?? found[3] ?? "")
    end = pattern.lastIndex
  }
  return tag.slice(end).trim() === "" ? attributes : undefined
}

function matchInvoke(text: string, at: number, resume: number, tags: InvokeTags, options: MatchOptions): Match {
  const open = `<${tags.prefix}invoke`
  const parameterOpen = `<${tags.prefix}parameter`
  const parameterClose = `</${tags.prefix}parameter>`
  const close = `</${tags.prefix}invoke>`
  const head = expectText(text, skipSpace(text, at), open)
  if (head === PARTIAL) return "partial"
  if (head === INVALID) return { resume }
  const headEnd = findText(text, head, ">")
  if (headEnd === PARTIAL) return "partial"
  const name = readAttributes(text.slice(head, headEnd))?.get("name")
  if (name === undefined || name === "") return { resume }
  const members: string[] = []
  let index = skipSpace(text, headEnd + 1)
  for (;;) {
    const end = expectText(text, index, close)
    if (end > 0) return { calls: [{ name, arguments: `{${members.join(", ")}}` }], end }
    const start = expectText(text, index, parameterOpen)
    if (end === PARTIAL || start === PARTIAL) return "partial"
    if (start === INVALID) return { resume }
    const startEnd = findText(text, start, ">")
    const valueEnd = startEnd === PARTIAL ? PARTIAL : findText(text, startEnd, parameterClose)
    if (valueEnd === PARTIAL) return "partial"
    const attributes = readAttributes(text.slice(start, startEnd))
    const key = attributes?.get("name")
    if (key === undefined) return { resume }
    const value = text.slice(startEnd + 1, valueEnd)
    const isString = tags.typed ? attributes?.get("string") : undefined
    if (isString === "false" && !isJson(value.trim())) return { resume }
    const json =
      isString === "true"
        ? JSON.stringify(value)
        : isString === "false"
          ? value.trim()
          : readTypedValue(value, name, key, options.tools)
    members.push(`${JSON.stringify(key)}: ${json}`)
    index = skipSpace(text, valueEnd + parameterClose.length)
  }
}

function invokeFormat(tags: InvokeTags): ToolCallFormat {
  const wrappers = tags.outer.map((outer) => `<${outer}>`)
  const invoke = `<${tags.prefix}invoke`
  return {
    name: tags.name,
    markers: [...wrappers, invoke],
    closers: ">",
    match(text, at, options) {
      const wrapper = wrappers.find((candidate) => text.startsWith(candidate, at))
      // Outside the outer tag it is prose about tags.
      if (wrapper === undefined && !options.continuing) return { resume: at + 1 }
      return matchInvoke(text, at + (wrapper?.length ?? 0), at + 1, tags, options)
    },
    write(calls) {
      const outer = tags.outer[0] ?? ""
      return `<${outer}>\n${calls.map((call) => writeInvoke(call, tags)).join("\n")}\n</${outer}>`
    },
  }
}

function writeInvoke(call: ToolCall, tags: InvokeTags): string {
  const parameters = Object.entries(JSON.parse(call.arguments) as Record<string, unknown>).map(([key, value]) => {
    const type = tags.typed ? ` string="${typeof value === "string"}"` : ""
    return `<${tags.prefix}parameter name="${key}"${type}>${writeTypedValue(value)}</${tags.prefix}parameter>\n`
  })
  return `<${tags.prefix}invoke name="${call.name}">\n${parameters.join("")}</${tags.prefix}invoke>`
}

export const minimaxM2 = invokeFormat({ name: "minimax_m2", outer: ["minimax:tool_call"], prefix: "", typed: false })

/** V4 writes `tool_calls` for `function_calls`. */
export const deepseekV32 = invokeFormat({
  name: "deepseek_v32",
  outer: ["｜DSML｜function_calls", "｜DSML｜tool_calls"],
  prefix: "｜DSML｜",
  typed: true,
})
