import { AtroposError } from "../../runtime/errors.ts"
import type {
  ChatCompletion,
  ChatCompletions,
  ChatRequest,
  InferenceMessage,
  ReasoningOptions,
  RequestOptions,
  Usage,
} from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { isObject, numberOr, textOr, type AnswerReader, type JsonObject } from "../transport/read.ts"
import { errorInBody } from "../transport/server-error.ts"
import type { ServerConnection } from "./connection.ts"
import { readFinishReason } from "./finish-reason.ts"
import { readTextLogprobs } from "./openai-answers.ts"
import { joinUrl } from "./server-config.ts"

/** A chat by `POST /responses`. It has no `n`, and no ids; logprobs come by text. */
export async function askResponses(
  connection: ServerConnection,
  request: ChatRequest,
  reasoning: ReasoningOptions | undefined,
  options: RequestOptions,
): Promise<ChatCompletions> {
  const { sampling = {} } = request
  const body = withoutUndefined({
    model: connection.options.model,
    input: request.messages.flatMap(toItems),
    tools: request.tools?.map(flattenTool),
    tool_choice: flattenTool(request.toolChoice),
    max_output_tokens: sampling.maxTokens,
    // Reasoning models refuse any temperature, unasked ones too.
    temperature: sampling.temperature,
    top_p: sampling.topP,
    ...(reasoning?.effort === undefined ? {} : { reasoning: { effort: reasoning.effort } }),
    ...(request.logprobs ? { include: ["message.output_text.logprobs"], top_logprobs: sampling.topLogprobs ?? 0 } : {}),
    ...sampling.extra,
  })
  const url = joinUrl(connection.options.baseUrl, "/responses")
  const answer =
    options.onDelta === undefined
      ? await connection.ask(url, body, options.signal)
      : await readStream(connection, url, body, options, options.onDelta)
  return {
    choices: [readAnswer(connection.reader, answer)],
    logprobsMode: connection.options.logprobsMode ?? "raw",
    departures: samplingDepartures(sampling),
    usage: readUsage(answer),
  }
}

/** The pieces as they come; the last event holds the whole answer. */
async function readStream(
  connection: ServerConnection,
  url: string,
  body: JsonObject,
  options: RequestOptions,
  onDelta: NonNullable<RequestOptions["onDelta"]>,
): Promise<JsonObject> {
  for await (const { data } of connection.transport.events({
    url,
    body: { ...body, stream: true },
    signal: options.signal,
  })) {
    if (!isObject(data)) continue
    const { type, delta, response } = data
    if (type === "response.output_text.delta" && typeof delta === "string") {
      const listed = isObject(data) && Array.isArray(data["logprobs"]) ? data["logprobs"] : []
      const logprobs = listed.flatMap((entry) =>
        isObject(entry) && typeof entry["logprob"] === "number" ? [entry["logprob"]] : [],
      )
      onDelta({ choice: 0, text: delta, ...(logprobs.length > 0 ? { logprobs } : {}) })
    }
    if (type === "response.failed" || type === "error") {
      const error = errorInBody(connection.name, type === "error" ? { error: data } : response)
      throw error ?? new AtroposError("inference-request", `${connection.name} failed`, { retryable: true })
    }
    if ((type === "response.completed" || type === "response.incomplete") && isObject(response)) {
      onDelta({ choice: 0, finishReason: finishReason(response) })
      return response
    }
  }
  throw connection.cut()
}

function readAnswer(reader: AnswerReader, answer: JsonObject): ChatCompletion {
  const items = reader.objects(answer["output"], "output")
  const parts = items
    .flatMap((item) => (Array.isArray(item["content"]) ? item["content"] : []))
    .filter(isObject)
    .filter((part) => part["type"] === "output_text")
  const listed = parts.flatMap((part) => readTextLogprobs({ content: part["logprobs"] }) ?? [])
  const hasLogprobs = parts.some((part) => Array.isArray(part["logprobs"]))
  const summaries = items.flatMap((item) => (Array.isArray(item["summary"]) ? item["summary"] : [])).filter(isObject)
  const reasoning = summaries.map((part) => textOr(part["text"], "")).join("\n")
  return {
    text: parts.map((part) => textOr(part["text"], "")).join(""),
    ...(reasoning === "" ? {} : { reasoning }),
    toolCalls: items
      .filter((item) => item["type"] === "function_call")
      .map((item) => ({
        id: textOr(item["call_id"] ?? item["id"], ""),
        name: textOr(item["name"], ""),
        arguments: textOr(item["arguments"], ""),
      })),
    finishReason: finishReason(answer),
    ...(hasLogprobs ? { textLogprobs: listed } : {}),
    versions: [],
  }
}

function finishReason(answer: JsonObject): ChatCompletion["finishReason"] {
  const details = answer["incomplete_details"]
  if (isObject(details)) return readFinishReason(details["reason"])
  const items = Array.isArray(answer["output"]) ? answer["output"] : []
  return items.some((item) => isObject(item) && item["type"] === "function_call") ? "tool_calls" : "stop"
}

function readUsage(answer: JsonObject): Usage {
  const usage = isObject(answer["usage"]) ? answer["usage"] : {}
  const input = isObject(usage["input_tokens_details"]) ? usage["input_tokens_details"] : {}
  const output = isObject(usage["output_tokens_details"]) ? usage["output_tokens_details"] : {}
  return {
    promptTokens: numberOr(usage["input_tokens"], 0),
    completionTokens: numberOr(usage["output_tokens"], 0),
    cachedTokens: numberOr(input["cached_tokens"], 0),
    reasoningTokens: numberOr(output["reasoning_tokens"], 0),
  }
}

/** Calls and what tools say are items of their own here, beside the messages. */
function toItems(message: InferenceMessage): JsonObject[] {
  const { role, content } = message
  if (role === "tool") {
    return [{ type: "function_call_output", call_id: message["tool_call_id"], output: content }]
  }
  const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"].filter(isObject) : []
  const said = isObject(content) || (content ?? "") === "" ? [] : [{ role, content: toParts(content, role) }]
  return [
    ...said,
    ...calls.map((call) => {
      const { name, arguments: args } = isObject(call["function"]) ? call["function"] : {}
      return { type: "function_call", call_id: call["id"], name, arguments: args }
    }),
  ]
}

function toParts(content: InferenceMessage["content"], role: string): unknown {
  if (!Array.isArray(content)) return content
  return content.map((part: JsonObject) => {
    if (part["type"] === "text")
      return { type: role === "assistant" ? "output_text" : "input_text", text: part["text"] }
    const image = part["image_url"]
    if (part["type"] === "image_url") return { type: "input_image", image_url: isObject(image) ? image["url"] : image }
    return part
  })
}

function flattenTool(tool: unknown): unknown {
  return isObject(tool) && isObject(tool["function"]) ? { type: "function", ...tool["function"] } : tool
}

function withoutUndefined(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}
