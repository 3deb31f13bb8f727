import type {
  ChatCompletion,
  ChatCompletions,
  ChatRequest,
  InferenceMessage,
  RequestOptions,
} from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { isObject, numberOr, textOr, type AnswerReader, type JsonObject } from "../transport/read.ts"
import type { ServerConnection } from "./connection.ts"
import { readFinishReason } from "./finish-reason.ts"
import { joinUrl } from "./server-config.ts"

/** Without a limit of the caller's: the route insists on one. */
const defaultMaxTokens = 4096

/** A chat by Anthropic's `POST /messages`, which vLLM has too. No `n`, no logprobs, and pieces only at the end. */
export async function askMessages(
  connection: ServerConnection,
  request: ChatRequest,
  options: RequestOptions,
): Promise<ChatCompletions> {
  const { sampling = {} } = request
  const system = request.messages.filter(({ role }) => role === "system")
  const body: JsonObject = {
    model: connection.options.model,
    max_tokens: sampling.maxTokens ?? defaultMaxTokens,
    messages: request.messages.filter(({ role }) => role !== "system").map(toTurn),
    ...(system.length === 0 ? {} : { system: system.map(({ content }) => textOf(content)).join("\n\n") }),
    ...(request.tools === undefined ? {} : { tools: request.tools.map(toTool) }),
    ...(request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...(sampling.stop === undefined ? {} : { stop_sequences: sampling.stop }),
    ...sampling.extra,
  }
  const answer = await connection.ask(joinUrl(connection.options.baseUrl, "/messages"), body, options.signal)
  const choice = readAnswer(connection.reader, answer)
  const { text, reasoning, toolCalls, finishReason } = choice
  options.onDelta?.({
    choice: 0,
    text,
    ...(reasoning === undefined ? {} : { reasoning }),
    toolCalls: toolCalls.map((call, index) => ({ index, ...call })),
    finishReason,
  })
  const usage = isObject(answer["usage"]) ? answer["usage"] : {}
  return {
    choices: [choice],
    logprobsMode: connection.options.logprobsMode ?? "raw",
    departures: samplingDepartures(sampling),
    usage: {
      promptTokens: numberOr(usage["input_tokens"], 0),
      completionTokens: numberOr(usage["output_tokens"], 0),
      cachedTokens: numberOr(usage["cache_read_input_tokens"], 0),
    },
  }
}

function readAnswer(reader: AnswerReader, answer: JsonObject): ChatCompletion {
  const parts = reader.objects(answer["content"], "content")
  const joined = (type: string, field: string): string =>
    parts.flatMap((part) => (part["type"] === type ? [textOr(part[field], "")] : [])).join("")
  const reasoning = joined("thinking", "thinking")
  return {
    text: joined("text", "text"),
    ...(reasoning === "" ? {} : { reasoning }),
    toolCalls: parts
      .filter((part) => part["type"] === "tool_use")
      .map((part) => ({
        id: textOr(part["id"], ""),
        name: textOr(part["name"], ""),
        arguments: JSON.stringify(part["input"] ?? {}),
      })),
    finishReason: readFinishReason(answer["stop_reason"]),
    versions: [],
  }
}

/** Calls and what tools say are parts of the turns here. */
function toTurn(message: InferenceMessage): JsonObject {
  const { role, content } = message
  if (role === "tool") {
    const result = { type: "tool_result", tool_use_id: message["tool_call_id"], content }
    return { role: "user", content: [result] }
  }
  const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : []
  if (calls.length === 0) return { role, content: Array.isArray(content) ? content.map(toPart) : content }
  const uses = calls.map((call) => {
    const said = isObject(call["function"]) ? call["function"] : {}
    const input = typeof said["arguments"] === "string" ? parseArguments(said["arguments"]) : said["arguments"]
    return { type: "tool_use", id: call["id"], name: said["name"], input }
  })
  const text = textOf(content)
  return { role, content: text === "" ? uses : [{ type: "text", text }, ...uses] }
}

function toPart(part: JsonObject): JsonObject {
  const image = part["image_url"]
  if (part["type"] !== "image_url" || !isObject(image)) return part
  const url = textOr(image["url"], "")
  const inline = /^data:([^;]+);base64,(.*)$/s.exec(url)
  const source = inline === null ? { type: "url", url } : { type: "base64", media_type: inline[1], data: inline[2] }
  return { type: "image", source }
}

function toTool(tool: unknown): unknown {
  const said = isObject(tool) && isObject(tool["function"]) ? tool["function"] : undefined
  if (said === undefined) return tool
  return {
    name: said["name"],
    description: said["description"],
    input_schema: said["parameters"] ?? { type: "object" },
  }
}

/** Arguments that are no JSON were the model's mistake; the turn is still to be told. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return { text }
  }
}

function textOf(content: InferenceMessage["content"]): string {
  if (typeof content === "string") return content
  return (content ?? []).flatMap((part) => (part.type === "text" ? [textOr(part["text"], "")] : [])).join("")
}
