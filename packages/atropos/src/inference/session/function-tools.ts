import { toPlainJson } from "../../chat/lossless-json.ts"
import type { ChatTool } from "../../chat/messages.ts"
import type { FunctionTool } from "../../chat/tool-calls/tool-call.ts"

/** The tools as formats read them; those of other kinds have no calls in a text. */
export function functionTools(tools: readonly ChatTool[]): FunctionTool[] {
  return tools.map((tool) => (tool instanceof Map ? toPlainJson(tool) : tool)).filter(isFunctionTool)
}

function isFunctionTool(tool: unknown): tool is FunctionTool {
  if (typeof tool !== "object" || tool === null || !("function" in tool)) return false
  const { function: called } = tool
  return typeof called === "object" && called !== null && "name" in called && typeof called.name === "string"
}
