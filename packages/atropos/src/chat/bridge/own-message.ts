// Which messages of a request are the policy's own, though the client trimmed or re-serialised them.
import { tryParseLosslessJson } from "../lossless-json.ts"
import { contentText, thoughtOf, type ChatMessage, type ChatToolCall } from "../messages.ts"
import { sameJson } from "./same-json.ts"
import { trimmed } from "./whitespace.ts"

/**
 * Whether `echo` is the message that was handed out as `own`: same content but for outer white space, same calls. A
 * thought that the client left out does not count, nor do fields that only servers add.
 */
export function isEchoOf(own: ChatMessage, echo: ChatMessage): boolean {
  if (own === echo) return true
  return own.role === echo.role && sameContent(own, echo) && sameCalls(own, echo) && sameThought(own, echo)
}

function sameContent(own: ChatMessage, echo: ChatMessage): boolean {
  if (own.content === echo.content) return true
  const text = contentText(own.content)
  if (text === undefined) return sameJson(own.content, echo.content)
  const echoed = contentText(echo.content)
  return echoed !== undefined && trimmed(text) === trimmed(echoed)
}

function sameCalls(own: ChatMessage, echo: ChatMessage): boolean {
  const calls = own.tool_calls ?? []
  const echoed = echo.tool_calls ?? []
  return (
    calls.length === echoed.length &&
    calls.every((call, index) => {
      const other = echoed[index]
      return (
        other !== undefined &&
        (call.id ?? "") === (other.id ?? "") &&
        call.function.name === other.function.name &&
        sameArguments(call.function.arguments, other.function.arguments)
      )
    })
  )
}

type Arguments = ChatToolCall["function"]["arguments"]

/** Equal as JSON; text that is no JSON stands for itself. */
function sameArguments(one: Arguments, other: Arguments): boolean {
  return one === other || sameJson(argumentsValue(one), argumentsValue(other), "values")
}

function argumentsValue(given: Arguments): unknown {
  if (typeof given !== "string") return given
  const parsed = tryParseLosslessJson(given)
  return parsed === undefined ? given : parsed
}

function sameThought(own: ChatMessage, echo: ChatMessage): boolean {
  const thought = trimmed(thoughtOf(echo))
  return thought === "" || thought === trimmed(thoughtOf(own))
}
