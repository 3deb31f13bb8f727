import type { ChatMessage, ChatToolCall } from "../../chat/messages.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { InferenceMessage } from "../inference-server.ts"

/** Checks what the chat part relies on in messages that may come from any client. */
export function toChatMessages(messages: readonly InferenceMessage[]): ChatMessage[] {
  if (messages.length === 0) throw new AtroposError("bad-option", "a chat needs at least one message, received none")
  return messages.map((message, index) => {
    const { tool_calls: calls } = message
    if (typeof message.role !== "string") throw bad(index, "role", "a text")
    if (!("tool_calls" in message)) return { ...message }
    if (calls === undefined || calls === null) {
      const { tool_calls: _none, ...rest } = message
      return rest
    }
    if (!Array.isArray(calls) || !calls.every(isCall))
      throw bad(index, "tool_calls", "a list of {id, type, function: {name, arguments}}")
    return { ...message, tool_calls: calls }
  })
}

function isCall(call: unknown): call is ChatToolCall {
  if (typeof call !== "object" || call === null || !("function" in call)) return false
  const called = call.function
  return (
    typeof called === "object" &&
    called !== null &&
    "name" in called &&
    typeof called.name === "string" &&
    "arguments" in called
  )
}

function bad(index: number, field: string, wanted: string): AtroposError {
  return new AtroposError("bad-option", `${field} of message ${index} must be ${wanted}`)
}
