import { parseToolCalls } from "../../../chat/tool-calls/formats.ts"
import type { FunctionTool } from "../../../chat/tool-calls/tool-call.ts"
import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import { textOf, tokensOf, wholePiece, type Piece, type Sample, type StubRequest } from "../generation.ts"
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
  await answer(context, call, requests, { object: "text_completion", id: "cmpl", chunk: "text_completion" }, shape)
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
  const streamed = body["stream"] === true
  const shape = (piece: Piece, prompt: StubRequest): JsonObject => {
    const text = textOf(piece)
    const parsed = tools.length > 0 && !streamed ? parseToolCalls("hermes", text, tools) : { content: text, calls: [] }
    const calls = parsed.calls.map((toolCall, index) => ({
      id: sglang ? `call_stub${index}` : `chatcmpl-tool-stub${index}`,
      type: "function",
      function: { name: toolCall.name, arguments: toolCall.arguments },
    }))
    const message = { role: "assistant", content: parsed.content, ...(calls.length > 0 ? { tool_calls: calls } : {}) }
    const delta = { ...(piece.from === 0 ? { role: "assistant" } : {}), content: text }
    const fields = choiceFields(context, body, piece)
    return {
      ...(streamed ? { delta } : { message }),
      logprobs: body["logprobs"] === true ? { content: chatLogprobs(context, piece) } : null,
      ...fields,
      ...(calls.length > 0 && fields["finish_reason"] === "stop" ? { finish_reason: "tool_calls" } : {}),
      ...(sglang && body["return_prompt_token_ids"] === true ? { prompt_token_ids: prompt.promptIds } : {}),
    }
  }
  const names = { object: "chat.completion", id: "chatcmpl", chunk: "chat.completion.chunk" }
  const beside = !sglang && context.dialect !== "openai" && exact ? { prompt_token_ids: promptIds } : {}
  await answer(context, call, [request], names, shape, beside)
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

async function answer(
  context: StubContext,
  call: StubCall,
  requests: readonly StubRequest[],
  names: { object: string; chunk: string; id: string },
  shape: (piece: Piece, prompt: StubRequest) => JsonObject,
  beside: JsonObject = {},
): Promise<void> {
  const { body } = call
  const n = requests[0]?.n ?? 1
  const head = {
    id: `${names.id}-stub`,
    created: 0,
    model: typeof body["model"] === "string" ? body["model"] : context.model,
  }
  const promptOf = (index: number): StubRequest => requests[Math.floor(index / n)] ?? (requests[0] as StubRequest)
  if (body["stream"] !== true) {
    const samples = await generate(context, call, requests)
    call.json(200, {
      ...head,
      object: names.object,
      choices: samples.map((sample, index) => ({
        index,
        ...shape(wholePiece(sample, index), promptOf(index)),
      })),
      usage: usageOf(context, requests, samples),
      ...beside,
      ...metadataOf(context, samples[0]),
    })
    return
  }
  let first = true
  const samples = await generate(context, call, requests, (piece) => {
    const choice = { index: piece.index, ...shape(piece, promptOf(piece.index)) }
    call.event({ ...head, object: names.chunk, choices: [choice], ...(first ? beside : {}) })
    first = false
  })
  if (isObject(body["stream_options"]) && body["stream_options"]["include_usage"] === true) {
    call.event({ ...head, object: names.chunk, choices: [], usage: usageOf(context, requests, samples) })
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
