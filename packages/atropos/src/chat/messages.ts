import type { LosslessJson } from "./lossless-json.ts"

/** A call to a tool, in the words of the OpenAI chat API. */
export interface ChatToolCall {
  id?: string
  type?: string
  function: {
    name: string
    /** JSON text, as on the wire; values are taken too. */
    arguments: string | Readonly<Record<string, unknown>> | LosslessJson
  }
}

export interface ChatContentPart {
  type: string
  text?: string
  [field: string]: unknown
}

/**
 * One message of a conversation, in the words of the OpenAI chat API, which are also those of chat templates.
 * An assistant's thought may stand under `reasoning_content`, `thinking` or `reasoning`.
 */
export interface ChatMessage {
  role: string
  content?: string | readonly ChatContentPart[] | null
  tool_calls?: readonly ChatToolCall[] | null
  tool_call_id?: string | null
  [field: string]: unknown
}

/** A tool as in a chat request: a plain JSON object, or one read by `parseLosslessJson` where numbers' spelling matters. */
export type ChatTool = object

/** Under which a message's thought may stand; the first that is there counts. */
export const thoughtKeys = ["reasoning_content", "thinking", "reasoning"] as const

/** The thought of an assistant's message, "" for one without. */
export function thoughtOf(message: ChatMessage): string {
  for (const key of thoughtKeys) {
    const thought = message[key]
    if (typeof thought === "string" && thought !== "") return thought
  }
  return ""
}

/** A message's text: its content, or its text parts put together; undefined where there are parts of other kinds. */
export function contentText(content: ChatMessage["content"]): string | undefined {
  if (content === null || content === undefined) return ""
  if (typeof content === "string") return content
  let text = ""
  for (const part of content) {
    if (part.type !== "text" || typeof part.text !== "string") return undefined
    text += part.text
  }
  return text
}
