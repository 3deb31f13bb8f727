import type { LosslessJson } from "../../../packages/atropos/src/chat/lossless-json.ts"
import type { ChatMessage } from "../../../packages/atropos/src/chat/messages.ts"

/** Messages of a case, read losslessly, as a session or a template takes them. */
export function toMessages(value: LosslessJson | undefined, options: { keepNulls?: boolean } = {}): ChatMessage[] {
  if (!Array.isArray(value)) throw new Error("a case without messages")
  return value.map((message) => {
    const plain = toObject(message)
    if (options.keepNulls !== true) for (const key of Object.keys(plain)) if (plain[key] === null) delete plain[key]
    return plain as unknown as ChatMessage
  })
}

/** Maps become objects down to the arguments of calls, which stay as they were read. */
function toObject(value: LosslessJson): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  if (value instanceof Map)
    for (const [key, field] of value) {
      if (key === "tool_calls" && Array.isArray(field)) object[key] = field.map(toObject)
      else if (key === "function" && field instanceof Map) object[key] = toObject(field)
      else if (key === "content" && Array.isArray(field)) object[key] = field.map(toObject)
      else object[key] = field
    }
  return object
}

/** Tools of a case; null where it has none. */
export function toTools(value: LosslessJson | undefined): object[] | null {
  return Array.isArray(value) ? value.filter((tool) => tool instanceof Map) : null
}
