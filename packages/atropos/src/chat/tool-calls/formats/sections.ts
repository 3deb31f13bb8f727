import { expectSpaced, expectText, findText, INVALID, PARTIAL, scanJson, skipSpace } from "../scan.ts"
import type { Match, ToolCall, ToolCallFormat } from "../tool-call.ts"

/** Tokens of a family that writes a section of calls, each between its own begin and end tokens. */
interface SectionTokens {
  name: string
  sectionBegin: string
  sectionEnd: string
  begin: string
  /** Between the head (which holds the name) and the arguments. */
  separator: string
  end: string
  /** What stands around the arguments. */
  fence?: { open: string; close: string }
  readHead: (head: string) => { name: string; id?: string } | undefined
  writeHead: (call: ToolCall, index: number) => string
  betweenCalls: string
}

function sectionFormat(tokens: SectionTokens): ToolCallFormat {
  return {
    name: tokens.name,
    markers: [tokens.sectionBegin, tokens.begin],
    closers: ">",
    match(text, at, options) {
      const opens = text.startsWith(tokens.sectionBegin, at)
      if (!opens && !options.continuing) return { resume: at + 1 }
      return matchOne(text, opens ? at + tokens.sectionBegin.length : at, at + 1, tokens)
    },
    write(calls) {
      const { open, close } = tokens.fence ?? { open: "", close: "" }
      const written = calls.map(
        (call, index) => `${tokens.begin}${tokens.writeHead(call, index)}${open}${call.arguments}${close}${tokens.end}`,
      )
      return `${tokens.sectionBegin}${written.join(tokens.betweenCalls)}${tokens.sectionEnd}`
    },
  }
}

function matchOne(text: string, at: number, resume: number, tokens: SectionTokens): Match {
  const head = expectSpaced(text, at, tokens.begin)
  if (head === PARTIAL) return "partial"
  if (head === INVALID) return { resume }
  const headEnd = findText(text, head, tokens.separator)
  if (headEnd === PARTIAL) return "partial"
  let index = headEnd + tokens.separator.length
  let headText = text.slice(head, headEnd)
  if (tokens.fence !== undefined) {
    // The name stands after the separator, before the fence.
    const fence = findText(text, index, tokens.fence.open.trim())
    if (fence === PARTIAL) return "partial"
    headText = text.slice(index, fence)
    index = fence + tokens.fence.open.trim().length
  }
  const found = tokens.readHead(headText.trim())
  if (found === undefined) return { resume }
  const open = skipSpace(text, index)
  if (open === text.length) return "partial"
  let after = text[open] === "{" ? scanJson(text, open) : INVALID
  if (after === PARTIAL) return "partial"
  if (after === INVALID) return { resume }
  const callArguments = text.slice(open, after)
  if (tokens.fence !== undefined) {
    after = expectSpaced(text, after, tokens.fence.close.trim())
    if (after === PARTIAL) return "partial"
    if (after === INVALID) return { resume }
  }
  const end = expectText(text, skipSpace(text, after), tokens.end)
  if (end === PARTIAL) return "partial"
  return end === INVALID ? { resume } : { calls: [{ ...found, arguments: callArguments }], end }
}

const plainName = (head: string): { name: string } | undefined => (/^[^\s<{]+$/.test(head) ? { name: head } : undefined)

const deepseekTokens = {
  sectionBegin: "<｜tool▁calls▁begin｜>",
  sectionEnd: "<｜tool▁calls▁end｜>",
  begin: "<｜tool▁call▁begin｜>",
  separator: "<｜tool▁sep｜>",
  end: "<｜tool▁call▁end｜>",
  readHead: plainName,
}

/** V3 and R1: `function<sep>name` and the arguments in a code fence. */
export const deepseekV3 = sectionFormat({
  ...deepseekTokens,
  name: "deepseek_v3",
  fence: { open: "\n```json\n", close: "\n```" },
  writeHead: (call) => `function${deepseekTokens.separator}${call.name}`,
  betweenCalls: "\n",
})

export const deepseekV31 = sectionFormat({
  ...deepseekTokens,
  name: "deepseek_v31",
  writeHead: (call) => `${call.name}${deepseekTokens.separator}`,
  betweenCalls: "",
})

/** Ids are `functions.name:index`, and templates expect them back. */
export const kimiK2 = sectionFormat({
  name: "kimi_k2",
  sectionBegin: "<|tool_calls_section_begin|>",
  sectionEnd: "<|tool_calls_section_end|>",
  begin: "<|tool_call_begin|>",
  separator: "<|tool_call_argument_begin|>",
  end: "<|tool_call_end|>",
  readHead(head) {
    const found = /^(?:functions\.)?([^\s:<{]+)(?::\d+)?$/.exec(head)
    return found?.[1] === undefined ? undefined : { name: found[1], id: head }
  },
  writeHead: (call, index) => `${call.id ?? `functions.${call.name}:${index}`}<|tool_call_argument_begin|>`,
  betweenCalls: "",
})
