// The policy's last answer as it is given to the template: as the text it sampled, or taken apart as handed out.
import { JsonFloat, tryParseLosslessJson } from "../lossless-json.ts"
import { contentText, thoughtOf, type ChatMessage, type ChatToolCall } from "../messages.ts"
import type { TurnTokens } from "./turn-tokens.ts"
import { withoutSpace } from "./whitespace.ts"

/**
 * Stands in a conversation for what an answer's end is found by; no template looks at such characters. Control
 * characters of Latin-1 leave plain texts at one byte a character.
 */
const mark = "\u0091atropos\u0091answer\u0092"

/** Whether a text may hold a mark, or a part of one that the next text completes. */
export function mayHoldMark(text: string): boolean {
  return text.includes(mark.charAt(0))
}

export interface AnswerForm {
  kind: "raw" | "structured"
  message: ChatMessage
  /** The message with a mark in place of its content, or of the last call's arguments. */
  marked: ChatMessage
  /** Whether the mark stands in a call: what the template adds begins only after what closes the call. */
  marksCall: boolean
}

/** Raw first: structured forms lose things, such as odd JSON and text beside calls. */
export function answerForms(answerText: string, message: ChatMessage): AnswerForm[] {
  const raw = { role: "assistant", content: answerText }
  const calls = message.tool_calls ?? []
  const last = calls.at(-1)
  const marked =
    last === undefined
      ? { ...message, content: mark }
      : { ...message, tool_calls: [...calls.slice(0, -1), markCall(last)] }
  return [
    { kind: "raw", message: raw, marked: { ...raw, content: mark }, marksCall: false },
    { kind: "structured", message, marked, marksCall: last !== undefined },
  ]
}

function markCall(call: ChatToolCall): ChatToolCall {
  return { ...call, function: { ...call.function, arguments: JSON.stringify({ mark }) } }
}

/** What the template adds after the answer, found in the rendering of the marked form. */
export function tailAfterMark(rendered: string, form: AnswerForm, tokens: TurnTokens): string | undefined {
  const at = rendered.indexOf(mark)
  // A template that prints an answer twice says nothing about its end.
  if (at < 0 || rendered.includes(mark, at + 1)) return undefined
  const after = rendered.slice(at + mark.length)
  if (!form.marksCall) return after
  const end = tokens.firstEnd(after)
  return end === undefined ? undefined : after.slice(end)
}

/** Whether all parts of a message stand in a text, in whatever spelling the template has for them. */
export function holdsAllParts(text: string, message: ChatMessage): boolean {
  const dense = withoutSpace(text)
  const holds = (part: string): boolean => dense.includes(withoutSpace(part))
  const content = contentText(message.content)
  if (content === undefined || !holds(content) || !holds(thoughtOf(message))) return false
  return (message.tool_calls ?? []).every((call) => {
    const given = call.function.arguments
    const value = typeof given === "string" ? tryParseLosslessJson(given) : given
    if (!holds(call.function.name)) return false
    if (typeof given === "string" && holds(given)) return true
    return value !== undefined && leaves(value).every((spellings) => spellings.some(holds))
  })
}

/** Every key and scalar of a JSON value, each with the ways in which templates write it. */
function leaves(value: unknown): string[][] {
  if (value === null || value === undefined) return [["null", "None"]]
  if (typeof value === "boolean") return [value ? ["true", "True"] : ["false", "False"]]
  if (typeof value === "string") return [[value, JSON.stringify(value).slice(1, -1)]]
  if (value instanceof JsonFloat) return [[String(value.value)]]
  if (typeof value === "number" || typeof value === "bigint") return [[String(value)]]
  if (Array.isArray(value)) return value.flatMap(leaves)
  const entries = value instanceof Map ? [...value.entries()] : Object.entries(value)
  return entries.flatMap(([key, field]) => [[String(key)], ...leaves(field)])
}
