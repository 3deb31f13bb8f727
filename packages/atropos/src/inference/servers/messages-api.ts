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

/** A chat by Anthropic's `POST /messages`, which vLLM has too. It has no `n` and no logprobs. */
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
    ...(request.toolChoice === undefined ? {} : { tool_choice: toToolChoice(request.toolChoice) }),
    ...(sampling.temperature === undefined ? {} : { temperature: sampling.temperature }),
    ...(sampling.topP === undefined ? {} : { top_p: sampling.topP }),
    ...(sampling.stop === undefined ? {} : { stop_sequences: sampling.stop }),
    ...sampling.extra,
  }
  const url = joinUrl(connection.options.baseUrl, "/messages")
  const answer =
    options.onDelta === undefined
      ? await connection.ask(url, body, options.signal)
      : await readStream(connection, url, body, options, options.onDelta)
  const usage = isObject(answer["usage"]) ? answer["usage"] : {}
  return {
    choices: [readAnswer(connection.reader, answer)],
    logprobsMode: connection.options.logprobsMode ?? "raw",
    departures: samplingDepartures(sampling),
    usage: {
      promptTokens: numberOr(usage["input_tokens"], 0),
      completionTokens: numberOr(usage["output_tokens"], 0),
      cachedTokens: numberOr(usage["cache_read_input_tokens"], 0),
    },
  }
}

/** Puts the parts of the stream together to the answer that comes without it. */
async function readStream(
  connection: ServerConnection,
  url: string,
  body: JsonObject,
  options: RequestOptions,
  onDelta: NonNullable<RequestOptions["onDelta"]>,
): Promise<JsonObject> {
  const parts: JsonObject[] = []
  const answer: JsonObject = { content: parts }
  let usage: JsonObject = {}
  for await (const { data } of connection.transport.events({
    url,
    body: { ...body, stream: true },
    signal: options.signal,
  })) {
    if (!isObject(data)) continue
    const delta = isObject(data["delta"]) ? data["delta"] : {}
    const message = isObject(data["message"]) ? data["message"] : {}
    const said = isObject(message["usage"]) ? message["usage"] : isObject(data["usage"]) ? data["usage"] : {}
    usage = { ...usage, ...said }
    if (data["type"] === "content_block_start" && isObject(data["content_block"]))
      parts.push({ ...data["content_block"] })
    if (data["type"] === "content_block_delta") addToPart(parts, delta, onDelta)
    if (data["type"] === "message_delta" && typeof delta["stop_reason"] === "string") {
      answer["stop_reason"] = delta["stop_reason"]
      onDelta({ choice: 0, finishReason: readFinishReason(delta["stop_reason"]) })
    }
  }
  if (answer["stop_reason"] === undefined) throw connection.cut()
  return { ...answer, usage }
}

function addToPart(
  parts: readonly JsonObject[],
  delta: JsonObject,
  onDelta: NonNullable<RequestOptions["onDelta"]>,
): void {
  const part = parts.at(-1)
  if (part === undefined) return
  const grow = (field: string, piece: unknown): string => {
    const text = textOr(piece, "")
    part[field] = textOr(part[field], "") + text
    return text
  }
  switch (delta["type"]) {
    case "text_delta":
      onDelta({ choice: 0, text: grow("text", delta["text"]) })
      break
    case "thinking_delta":
      onDelta({ choice: 0, reasoning: grow("thinking", delta["thinking"]) })
      break
    case "input_json_delta": {
      const index = parts.filter(({ type }) => type === "tool_use").length - 1
      const known = part["json"] !== undefined
      const piece = grow("json", delta["partial_json"])
      const named = known ? {} : { id: textOr(part["id"], ""), name: textOr(part["name"], "") }
      onDelta({ choice: 0, toolCalls: [{ index, ...named, arguments: piece }] })
      break
    }
    default:
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
        arguments: textOr(part["json"], "") || JSON.stringify(part["input"] ?? {}),
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

/** In this API's words; what is none of the chat API's choices goes as it is. */
function toToolChoice(choice: unknown): unknown {
  if (choice === "required") return { type: "any" }
  if (choice === "auto" || choice === "none") return { type: choice }
  const named = isObject(choice) && isObject(choice["function"]) ? choice["function"] : undefined
  return named === undefined ? choice : { type: "tool", name: named["name"] }
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
