import type { ChatMessage, ChatTool } from "../../chat/messages.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { functionTools } from "./function-tools.ts"
import type { ToolChoice } from "./session.ts"

/** Throws where no answer could do what the choice asks for. */
export function checkToolChoice(choice: ToolChoice, tools: readonly ChatTool[] | null): void {
  if (choice === "auto" || choice === "none") return
  const wanted = namedFunction(choice)
  if (choice !== "required" && wanted === undefined) {
    throw new AtroposError(
      "bad-option",
      `toolChoice takes auto, none, required or {type: "function", function: {name}}, received ${JSON.stringify(choice)}`,
    )
  }
  const names = toolNames(tools)
  if (names.length > 0 && (wanted === undefined || names.includes(wanted))) return
  const asked = wanted === undefined ? "required" : `function ${JSON.stringify(wanted)}`
  const offered = names.length === 0 ? "no tools" : `only ${names.join(", ")}`
  throw new AtroposError(
    "bad-option",
    `toolChoice asks for ${asked}, and the call offers ${offered}: give it in tools, or choose auto`,
  )
}

/** Whether the answer calls what it had to; undefined where it was free. */
export function isToolChoiceMet(
  choice: ToolChoice,
  message: ChatMessage,
  tools: readonly ChatTool[] | null,
): boolean | undefined {
  if (choice === "auto" || choice === "none") return undefined
  const wanted = namedFunction(choice)
  const names = wanted === undefined ? toolNames(tools) : [wanted]
  return message.tool_calls?.some((call) => names.includes(call.function.name)) ?? false
}

/** Choices may come from any client, whatever their type says. */
function namedFunction(choice: unknown): string | undefined {
  if (typeof choice !== "object" || choice === null || !("function" in choice)) return undefined
  const { function: called } = choice
  if (typeof called !== "object" || called === null || !("name" in called)) return undefined
  return typeof called.name === "string" ? called.name : undefined
}

function toolNames(tools: readonly ChatTool[] | null): string[] {
  return functionTools(tools ?? []).map((tool) => tool.function.name)
}
