import { randomUUID } from "node:crypto"

import { toPlainJson } from "../../chat/lossless-json.ts"
import type { ChatMessage, ChatTool } from "../../chat/messages.ts"
import { parseToolCalls } from "../../chat/tool-calls/formats.ts"
import type { FunctionTool } from "../../chat/tool-calls/tool-call.ts"
import type { FinishReason } from "../inference-server.ts"

export interface SampledText {
  text: string
  tokenIds: readonly number[]
  finishReason: FinishReason
}

export interface ParsedAnswer {
  message: ChatMessage
  finishReason: FinishReason
}

/** Makes the message that is handed out of what was sampled; the session keeps the sampled text beside it. */
export interface AnswerParser {
  (sampled: SampledText, request: { tools: readonly ChatTool[] | null }): ParsedAnswer
}

export interface AnswerParserOptions {
  /** How the model writes calls (`hermes`, `llama3_json`, …); calls stay text without it. */
  toolCallFormat?: string
  /** Hands a thought out in `reasoning_content` instead of in the content. @default false */
  splitThoughts?: boolean
  /** @default random ids like `call_1f0c…` */
  newCallId?: () => string
}

const thoughtEnds = ["</think>", "[/THINK]", "</seed:think>", "<|END_THINKING|>"]
const thoughtStart = /^\s*(?:<think>|\[THINK\]|<seed:think>|<\|START_THINKING\|>)/

export function createAnswerParser(options: AnswerParserOptions = {}): AnswerParser {
  const { toolCallFormat, splitThoughts = false, newCallId = randomCallId } = options
  return ({ text, finishReason }, { tools }) => {
    const { thought, rest } = splitThoughts ? splitThought(text) : { thought: undefined, rest: text }
    const reasoning = thought === undefined ? {} : { reasoning_content: thought }
    const plain: ParsedAnswer = { message: { role: "assistant", content: rest, ...reasoning }, finishReason }
    if (toolCallFormat === undefined || tools === null || tools.length === 0) return plain
    const parsed = parseToolCalls(toolCallFormat, rest, functionTools(tools))
    if (parsed.calls.length === 0) return plain
    const calls = parsed.calls.map((call) => ({
      id: call.id ?? newCallId(),
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    }))
    return {
      message: { role: "assistant", content: parsed.content, ...reasoning, tool_calls: calls },
      // A cut answer stays one, also when whole calls stand before the cut.
      finishReason: finishReason === "stop" ? "tool_calls" : finishReason,
    }
  }
}

/** The tools as formats read them; those of other kinds have no calls in a text. */
export function functionTools(tools: readonly ChatTool[]): FunctionTool[] {
  return tools.map((tool) => (tool instanceof Map ? toPlainJson(tool) : tool)).filter(isFunctionTool)
}

function isFunctionTool(tool: unknown): tool is FunctionTool {
  if (typeof tool !== "object" || tool === null || !("function" in tool)) return false
  const { function: called } = tool
  return typeof called === "object" && called !== null && "name" in called && typeof called.name === "string"
}

function splitThought(text: string): { thought: string | undefined; rest: string } {
  for (const end of thoughtEnds) {
    const at = text.indexOf(end)
    if (at < 0) continue
    const thought = text.slice(0, at).replace(thoughtStart, "").trim()
    return { thought: thought === "" ? undefined : thought, rest: text.slice(at + end.length).trimStart() }
  }
  return { thought: undefined, rest: text }
}

function randomCallId(): string {
  return `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`
}
