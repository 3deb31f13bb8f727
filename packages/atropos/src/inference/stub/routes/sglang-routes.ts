import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import { requestAt, textOf, tokensOf, wholePiece, type Piece, type StubRequest } from "../generation.ts"
import {
  fitToContext,
  readPrompts,
  readSampling,
  StubRefusal,
  type StubContext,
  type StubHandler,
  type StubRoutes,
} from "./context.ts"
import { generate } from "./generate.ts"
import { scorePrompt } from "./logprob-shapes.ts"

/** SGLang's own routes. */
export const sglangRoutes: StubRoutes = {
  "GET /health": (context, call) => (context.paused === "no" ? call.send(200, "") : call.send(503, "")),
  "GET /ping": (_, call) => call.send(200, ""),
  "GET /ready": (context, call) => call.send(context.paused === "no" ? 200 : 503, ""),
  "GET /model_info": modelInfo,
  "GET /get_model_info": modelInfo,
  "POST /generate": sglangGenerate,
  "POST /v1/tokenize": (context, call) => {
    const tokens = readPrompts(context, call.body["prompt"])[0] ?? []
    call.json(200, { tokens, count: tokens.length, max_model_len: context.contextTokens })
  },
  "POST /pause_generation": (context, call) => {
    const mode = call.body["mode"] ?? "abort"
    if (mode !== "abort" && mode !== "retract" && mode !== "in_place") {
      throw new StubRefusal(400, "Input should be 'abort', 'retract' or 'in_place'")
    }
    context.paused = "hold"
    if (mode === "abort") context.engine.abort()
    context.engine.freeze()
    call.json(200, { message: "Generation paused successfully.", status: "ok" })
  },
  "POST /continue_generation": (context, call) => {
    context.paused = "no"
    context.engine.thaw()
    call.json(200, { message: "Generation continued successfully.", status: "ok" })
  },
  "POST /abort_request": (context, call) => {
    const { rid, abort_all: all } = call.body
    context.engine.abort(all === true ? undefined : [String(rid)])
    call.send(200, "")
  },
  "POST /flush_cache": (_, call) => call.send(200, "Cache flushed.\n"),
  "POST /update_weight_version": (context, call) => {
    // True unless the request says otherwise.
    if (call.body["abort_all_requests"] !== false) context.engine.abort()
    const { version } = changeVersion(context, call.body["new_version"])
    call.json(200, { success: true, message: `Weight version updated to ${version}`, new_version: version })
  },
  "POST /update_weights_from_disk": (context, call) => {
    const { version } = changeVersion(context, call.body["weight_version"])
    const message = `Succeeded to update model weights. Weight version updated to ${version}.`
    call.json(200, { success: true, message, num_paused_requests: 0 })
  },
}

function changeVersion(context: StubContext, version: unknown): { version: string } {
  if (typeof version === "string") context.engine.version = version
  return { version: context.engine.version }
}

function modelInfo(...[context, call]: Parameters<StubHandler>): void {
  call.json(200, {
    model_path: context.model,
    served_model_name: context.model,
    tokenizer_path: context.model,
    is_generation: true,
    weight_version: context.engine.version,
    reasoning_parser: null,
    tool_call_parser: "qwen",
  })
}

/** Also called by the stub that speaks for all. */
export async function sglangGenerate(...[context, call]: Parameters<StubHandler>): Promise<void> {
  const { body } = call
  const params = isObject(body["sampling_params"]) ? body["sampling_params"] : {}
  if (params["max_tokens"] !== undefined) {
    throw new StubRefusal(400, "unknown field `max_tokens`, expected one of `max_new_tokens`, `stop`, …")
  }
  const prompt = body["input_ids"] ?? body["text"]
  if (prompt === undefined) throw new StubRefusal(400, "Either text, input_ids or input_embeds should be provided.")
  const prompts = readPrompts(context, prompt)
  const top = numberOr(body["top_logprobs_num"], 0)
  const wanted = readSampling({ max_new_tokens: 128, ...params })
  const requests = prompts.map((promptIds) => fitWhole(context, { ...wanted, promptIds, topLogprobs: top }))
  const shape = (piece: Piece): JsonObject => sglangAnswer(context, body, piece, requestAt(requests, piece.index), top)
  if (body["stream"] === true) {
    await generate(
      context,
      call,
      requests,
      (piece) => {
        // Every chunk repeats what came before.
        const answer = shape({ ...piece, from: 0 })
        call.event(wanted.n > 1 || requests.length > 1 ? { ...answer, index: piece.index } : answer)
      },
      "sglang",
    )
    call.endEvents()
    return
  }
  const samples = await generate(context, call, requests, undefined, "sglang")
  const answers = samples.map((sample, index) => shape(wholePiece(sample, index)))
  const listed = Array.isArray(prompt) && Array.isArray(prompt[0])
  call.json(200, answers.length === 1 && !listed ? answers[0] : answers)
}

/** Unlike vLLM it refuses what does not fit. */
function fitWhole(context: StubContext, request: StubRequest): StubRequest {
  const whole = request.promptIds.length + request.maxTokens
  if (whole > context.contextTokens) {
    throw new StubRefusal(
      400,
      `Requested token count exceeds the model's maximum context length of ${context.contextTokens} tokens. You requested a total of ${whole} tokens.`,
    )
  }
  return fitToContext(context, request)
}

function sglangAnswer(
  context: StubContext,
  body: JsonObject,
  piece: Piece,
  request: StubRequest,
  top: number,
): JsonObject {
  const { sample, last } = piece
  const tokens = tokensOf(piece)
  const triple = ({ id, logprob }: { id: number; logprob: number | null }): unknown[] => [logprob, id, null]
  const logprobs =
    body["return_logprob"] === true
      ? {
          ...promptFields(context, body, request, top),
          output_token_logprobs: tokens.map(triple),
          output_token_logprobs_length: tokens.length,
          ...(top > 0 ? { output_top_logprobs: tokens.map((token) => token.top.map(triple)) } : {}),
        }
      : {}
  return {
    // It streams what it then takes back.
    text: textOf(piece, false),
    output_ids: tokens.map(({ id }) => id),
    meta_info: {
      id: context.nextId(),
      finish_reason: last ? finishOf(context, piece) : null,
      prompt_tokens: request.promptIds.length,
      weight_version: context.engine.version,
      ...logprobs,
      reasoning_tokens: 0,
      completion_tokens: tokens.length,
      cached_tokens: 0,
      ...(last ? { weight_versions: sample.versions } : {}),
    },
  }
}

/** The prompt's logprobs from `logprob_start_len` on; none without it. */
function promptFields(context: StubContext, body: JsonObject, request: StubRequest, top: number): JsonObject {
  const start = numberOr(body["logprob_start_len"], -1)
  if (start < 0) return { input_token_logprobs: [] }
  const scored = scorePrompt(context, request.promptIds, top).slice(start)
  return {
    input_token_logprobs: scored.map(({ id, logprob }, at) => [start === 0 && at === 0 ? null : logprob, id, null]),
    ...(top > 0
      ? {
          input_top_logprobs: scored.map((token, at) =>
            start === 0 && at === 0 ? null : token.top.map(({ id, logprob }) => [logprob, id, null]),
          ),
        }
      : {}),
  }
}

function finishOf(context: StubContext, { sample }: Piece): JsonObject {
  switch (sample.finishReason) {
    case "stop":
      return { type: "stop", matched: sample.stopReason ?? context.engine.model.endId }
    case "length":
      return { type: "length", length: sample.tokens.length }
    case "abort":
      return { type: "abort", message: "Aborted", status_code: null, err_type: null }
  }
}
