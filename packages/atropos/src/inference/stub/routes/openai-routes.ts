import { createToolCallParser, parseToolCalls } from "../../../chat/tool-calls/formats.ts"
import type { ToolCallStream } from "../../../chat/tool-calls/parser.ts"
import type { FunctionTool } from "../../../chat/tool-calls/tool-call.ts"
import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import { requestAt, textOf, tokensOf, wholePiece, type Piece, type Sample, type StubRequest } from "../generation.ts"
import type { StubCall } from "../stub-call.ts"
import {
  fitToContext,
  readPrompts,
  readSampling,
  renderChat,
  StubRefusal,
  type StubContext,
  type StubHandler,
  type StubRoutes,
} from "./context.ts"
import { generate } from "./generate.ts"
import { chatLogprobs, listLogprobs, promptLogprobs } from "./logprob-shapes.ts"

/** OpenAI's routes, with what vLLM and SGLang add to them. */
export const openAiRoutes: StubRoutes = {
  "GET /v1/models": (context, call) => {
    const own = { id: context.model, object: "model", created: 0 }
    const owned = {
      owned_by: context.dialect === "any" ? "vllm" : context.dialect,
      max_model_len: context.contextTokens,
    }
    call.json(200, { object: "list", data: [{ ...own, ...owned, root: context.model, parent: null }] })
  },
  "POST /v1/completions": completions,
  "POST /v1/chat/completions": chat,
}

async function completions(...[context, call]: Parameters<StubHandler>): Promise<void> {
  const { body } = call
  const prompts = readPrompts(context, body["prompt"])
  const listed = typeof body["logprobs"] === "number" ? body["logprobs"] : undefined
  checkLogprobs(listed)
  const wanted = readSampling(body)
  if (wanted.maxTokens < 1) throw new StubRefusal(400, `max_tokens must be at least 1, got ${wanted.maxTokens}.`)
  const scores = body["prompt_logprobs"]
  if (scores !== undefined && scores !== null && body["stream"] === true) {
    throw new StubRefusal(400, "`prompt_logprobs` are not available when `stream=True`.", { param: "prompt_logprobs" })
  }
  const requests = prompts.map((promptIds) => fitToContext(context, { ...wanted, promptIds, topLogprobs: listed ?? 0 }))
  const spelled = body["return_tokens_as_token_ids"] === true
  const shape = (piece: Piece, prompt: StubRequest): JsonObject => ({
    text: textOf(piece),
    logprobs: listed === undefined ? null : listLogprobs(context, piece, spelled),
    ...choiceFields(context, body, piece),
    ...(context.dialect === "openai" || piece.from > 0
      ? {}
      : { prompt_token_ids: body["return_token_ids"] === true ? prompt.promptIds : null }),
    ...(typeof scores === "number" ? { prompt_logprobs: promptLogprobs(context, prompt.promptIds, scores) } : {}),
  })
  const send = body["stream"] === true ? stream : answer
  await send(context, call, requests, { object: "text_completion", id: "cmpl" }, shape)
}

async function chat(...[context, call]: Parameters<StubHandler>): Promise<void> {
  const { body } = call
  const exact = body["return_token_ids"] === true
  if (context.dialect === "sglang" && exact && body["stream"] === true) {
    throw new StubRefusal(400, "return_token_ids is not supported with streaming on /v1/chat/completions.")
  }
  const top = numberOr(body["top_logprobs"], 0)
  checkLogprobs(top)
  const given = isObject(body["kv_transfer_params"]) ? body["kv_transfer_params"]["prompt_token_ids"] : undefined
  const promptIds = Array.isArray(given) ? (given as number[]) : renderChat(context, body)
  const wanted = readSampling({ max_tokens: context.contextTokens, ...body })
  const request = fitToContext(context, { ...wanted, promptIds, topLogprobs: top })
  const tools = Array.isArray(body["tools"]) ? (body["tools"] as FunctionTool[]) : []
  const sglang = context.dialect === "sglang"
  /** What stands beside the message; with calls in it a choice ends for their sake. */
  const choiceOf = (piece: Piece, called: boolean): JsonObject => {
    const fields = choiceFields(context, body, piece)
    return {
      logprobs: body["logprobs"] === true ? { content: chatLogprobs(context, piece) } : null,
      ...fields,
      ...(called && fields["finish_reason"] === "stop" ? { finish_reason: "tool_calls" } : {}),
      ...(sglang && body["return_prompt_token_ids"] === true ? { prompt_token_ids: promptIds } : {}),
    }
  }
  const beside = !sglang && context.dialect !== "openai" && exact ? { prompt_token_ids: promptIds } : {}
  if (body["stream"] !== true) {
    const shape = (piece: Piece): JsonObject => {
      const { message, called } = messageOf(context, piece, tools)
      return { message, ...choiceOf(piece, called) }
    }
    await answer(context, call, [request], { object: "chat.completion", id: "chatcmpl" }, shape, beside)
    return
  }
  const parsers = new Map<number, ToolCallStream>()
  const shape = (piece: Piece): JsonObject => {
    const { delta, called } = deltaOf(context, piece, tools, parsers)
    return { delta, ...choiceOf(piece, called) }
  }
  const opening = (index: number): JsonObject => {
    const delta = { role: "assistant", content: "" }
    return { choices: [{ index, delta, logprobs: null, finish_reason: null }], ...beside }
  }
  await stream(context, call, [request], { object: "chat.completion.chunk", id: "chatcmpl" }, shape, opening)
}

interface Parsed {
  /** Whether there are calls. */
  called: boolean
}

/** A whole message, its calls parsed. */
function messageOf(
  context: StubContext,
  piece: Piece,
  tools: readonly FunctionTool[],
): Parsed & { message: JsonObject } {
  const text = textOf(piece)
  const parsed = tools.length > 0 ? parseToolCalls("hermes", text, tools) : { content: text, calls: [] }
  const calls = parsed.calls.map((toolCall) => ({
    id: callId(context),
    type: "function",
    function: { name: toolCall.name, arguments: toolCall.arguments },
  }))
  const message = { role: "assistant", content: parsed.content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  return { message, called: calls.length > 0 }
}

/** A piece of a message: text is held back while it could be a call, so a piece may have tokens and no text. */
function deltaOf(
  context: StubContext,
  piece: Piece,
  tools: readonly FunctionTool[],
  parsers: Map<number, ToolCallStream>,
): Parsed & { delta: JsonObject } {
  const text = textOf(piece)
  if (tools.length === 0) return { delta: { content: text }, called: false }
  const parser = parsers.get(piece.index) ?? createToolCallParser("hermes", tools)
  parsers.set(piece.index, parser)
  const before = parser.result().calls.length
  const pushed = parser.push(text)
  const rest = piece.last ? parser.end() : { content: "", calls: [] }
  const content = pushed.content + rest.content
  const calls = [...pushed.calls, ...rest.calls].map((toolCall, index) => ({
    index: before + index,
    id: callId(context),
    type: "function",
    function: { name: toolCall.name, arguments: toolCall.arguments },
  }))
  const delta = { ...(content === "" ? {} : { content }), ...(calls.length > 0 ? { tool_calls: calls } : {}) }
  return { delta, called: parser.result().calls.length > 0 }
}

function callId(context: StubContext): string {
  return `${context.dialect === "sglang" ? "call_" : "chatcmpl-tool-"}${context.nextId()}`
}

/** What vLLM and SGLang say of a choice beside its text; each has its own words. */
function choiceFields(context: StubContext, body: JsonObject, piece: Piece): JsonObject {
  const { sample, last } = piece
  const finish = { finish_reason: last ? sample.finishReason : null }
  const ids = body["return_token_ids"] === true ? tokensOf(piece).map(({ id }) => id) : undefined
  switch (context.dialect) {
    case "openai":
      return finish
    case "openrouter":
      return { ...finish, native_finish_reason: finish.finish_reason }
    case "sglang": {
      const idField = "messages" in body ? "response_token_ids" : "token_ids"
      return {
        ...finish,
        matched_stop: last ? stopOf(context, sample) : null,
        ...(ids === undefined ? {} : { [idField]: ids }),
      }
    }
    case "any":
    case "vllm":
    case "trl":
    case "atropos-vllm":
      return {
        ...finish,
        stop_reason: last ? sample.stopReason : null,
        token_ids: ids ?? null,
        weight_versions: last && body["return_weight_versions"] === true ? sample.versions : null,
      }
  }
}

function stopOf(context: StubContext, sample: Sample): string | number | null {
  return sample.finishReason === "stop" ? (sample.stopReason ?? context.engine.model.endId) : null
}

type Shape = (piece: Piece, prompt: StubRequest) => JsonObject

interface AnswerNames {
  object: string
  id: string
}

function headOf(context: StubContext, call: StubCall, { id, object }: AnswerNames): JsonObject {
  const { model } = call.body
  return {
    id: `${id}-${context.nextId()}`,
    object,
    created: 0,
    model: typeof model === "string" ? model : context.model,
  }
}

async function answer(
  context: StubContext,
  call: StubCall,
  requests: readonly StubRequest[],
  names: AnswerNames,
  shape: Shape,
  beside: JsonObject = {},
): Promise<void> {
  const samples = await generate(context, call, requests)
  call.json(200, {
    ...headOf(context, call, names),
    choices: samples.map((sample, index) => ({
      index,
      ...shape(wholePiece(sample, index), requestAt(requests, index)),
    })),
    usage: usageOf(context, requests, samples),
    ...beside,
    ...metadataOf(context, samples[0]),
  })
}

/** Chunk by chunk; `opening` is what comes before the first of each choice. */
async function stream(
  context: StubContext,
  call: StubCall,
  requests: readonly StubRequest[],
  names: AnswerNames,
  shape: Shape,
  opening?: (index: number) => JsonObject,
): Promise<void> {
  const head = headOf(context, call, names)
  const samples = await generate(context, call, requests, (piece) => {
    const { index } = piece
    if (piece.from === 0 && opening !== undefined) call.event({ ...head, ...opening(index) })
    call.event({ ...head, choices: [{ index, ...shape(piece, requestAt(requests, index)) }] })
  })
  const { stream_options: options } = call.body
  if (isObject(options) && options["include_usage"] === true) {
    call.event({ ...head, choices: [], usage: usageOf(context, requests, samples) })
  }
  call.endEvents()
}

function metadataOf(context: StubContext, first: Sample | undefined): JsonObject {
  if (context.dialect !== "sglang" || first === undefined) return {}
  return { metadata: { weight_version: context.engine.version, weight_versions: first.versions } }
}

function usageOf(context: StubContext, requests: readonly StubRequest[], samples: readonly Sample[]): JsonObject {
  const prompt = requests.reduce((sum, { promptIds }) => sum + promptIds.length, 0)
  const completion = samples.reduce((sum, { tokens }) => sum + tokens.length, 0)
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  if (context.dialect !== "openai" && context.dialect !== "openrouter") return usage
  return { ...usage, prompt_tokens_details: { cached_tokens: 0 }, completion_tokens_details: { reasoning_tokens: 0 } }
}

function checkLogprobs(count: number | undefined): void {
  if (count !== undefined && count > 20) {
    throw new StubRefusal(400, `Requested sample logprobs of ${count}, which is greater than max allowed: 20`, {
      param: "logprobs",
    })
  }
}
