import { z } from "zod"

import type { FunctionTool } from "../../chat/tool-calls/tool-call.ts"
import type { InferenceMessage } from "../../inference/inference-server.ts"

/** A tool of a rollout: one schema gives what the policy is told, the check of its arguments and the call's type. */
export interface Tool<Input = unknown> {
  name: string
  description: string
  input: z.ZodType<Input>
  /** Its result goes to the policy: a text as it is, anything else as JSON. What it throws goes there as a text. */
  call(input: Input, context: { signal?: AbortSignal }): unknown
}

/** A tool of whatever input. */
export interface AnyTool {
  name: string
  description: string
  input: z.ZodType
  call(input: never, context: { signal?: AbortSignal }): unknown
}

/** Gives `call` the type of `input`. */
export function defineTool<Input>(tool: Tool<Input>): Tool<Input> {
  return tool
}

/** The tools as a chat request has them. */
export function describeTools(tools: readonly AnyTool[]): FunctionTool[] {
  return tools.map(({ name, description, input }) => ({
    type: "function",
    function: { name, description, parameters: z.toJSONSchema(input, { io: "input", target: "draft-7" }) },
  }))
}

/** How one call of a tool went. */
export interface ToolOutcome {
  name: string
  status: "done" | "unknown-tool" | "bad-arguments" | "failed"
  /** Goes into the conversation. */
  message: InferenceMessage
}

/** A call as it stands in an assistant message. */
interface WireCall {
  id?: string
  function: { name: string; arguments: string }
}

/**
 * Runs the calls of an assistant message, in their order, and gives one message for each. A call that can not be
 * run is answered with what is wrong, for the policy to read.
 */
export async function runToolCalls(
  tools: readonly AnyTool[],
  message: InferenceMessage,
  context: { signal?: AbortSignal } = {},
): Promise<ToolOutcome[]> {
  const outcomes: ToolOutcome[] = []
  for (const call of callsOf(message)) {
    context.signal?.throwIfAborted()
    outcomes.push(await runCall(tools, call, context))
  }
  return outcomes
}

async function runCall(
  tools: readonly AnyTool[],
  call: WireCall,
  context: { signal?: AbortSignal },
): Promise<ToolOutcome> {
  const { name } = call.function
  const outcome = (status: ToolOutcome["status"], content: string): ToolOutcome => ({
    name,
    status,
    message: { role: "tool", name, content, ...(call.id === undefined ? {} : { tool_call_id: call.id }) },
  })
  const tool = tools.find((known) => known.name === name)
  if (tool === undefined) {
    return outcome("unknown-tool", `there is no tool ${name}; tools: ${tools.map((known) => known.name).join(", ")}`)
  }
  let given: unknown
  try {
    given = JSON.parse(call.function.arguments)
  } catch {
    return outcome("bad-arguments", "the arguments are no JSON object")
  }
  const input = tool.input.safeParse(given)
  if (!input.success) return outcome("bad-arguments", `the arguments do not fit: ${z.prettifyError(input.error)}`)
  try {
    // The tool's own schema has just said so.
    const result = await tool.call(input.data as never, context)
    return outcome("done", typeof result === "string" ? result : (JSON.stringify(result) ?? ""))
  } catch (error) {
    context.signal?.throwIfAborted()
    return outcome("failed", error instanceof Error ? error.message : String(error))
  }
}

function callsOf(message: InferenceMessage): WireCall[] {
  const calls = message["tool_calls"]
  return Array.isArray(calls) ? (calls as WireCall[]) : []
}
