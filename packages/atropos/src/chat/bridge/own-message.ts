// Which messages of a request are the policy's own, though the client trimmed or re-serialised them.
import { contentText, thoughtOf, type ChatMessage } from "../messages.ts"
import { canonicalArguments, canonicalJson } from "./canonical-json.ts"

/**
 * A text that is equal for messages which may be the same: exact for all roles but the assistant's, and for that one
 * without outer white space, thoughts and fields that only servers add.
 */
export function messageKey(message: ChatMessage): string {
  if (message.role !== "assistant") return canonicalJson(message)
  const text = contentText(message.content)
  const content = text === undefined ? canonicalJson(message.content) : text.trim()
  return `assistant ${canonicalCalls(message)} ${content}`
}

function canonicalCalls(message: ChatMessage): string {
  return JSON.stringify(
    (message.tool_calls ?? []).map((call) => [
      call.id ?? "",
      call.function.name,
      canonicalArguments(call.function.arguments),
    ]),
  )
}

/** Whether `echo`, whose key is that of `own`, is that message: a thought that was left out does not count. */
export function isEchoOf(own: ChatMessage, echo: ChatMessage): boolean {
  const thought = thoughtOf(echo)
  return thought === "" || thought.trim() === thoughtOf(own).trim()
}

/** Whether two messages that the policy did not write are the same. */
export function isSameMessage(one: ChatMessage, other: ChatMessage): boolean {
  return one === other || canonicalJson(one) === canonicalJson(other)
}
