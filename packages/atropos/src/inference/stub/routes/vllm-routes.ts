import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import { textOf, tokensOf, wholePiece, type Piece, type Sample } from "../generation.ts"
import {
  fitToContext,
  isNumber,
  readPrompts,
  readSampling,
  renderChat,
  StubRefusal,
  type StubContext,
  type StubHandler,
  type StubRoutes,
} from "./context.ts"
import { generate } from "./generate.ts"
import { promptLogprobs } from "./logprob-shapes.ts"

/** vLLM's own routes: what it says of itself, tokens, scale-out and weights. */
export const vllmRoutes: StubRoutes = {
  "GET /health": (_, call) => call.send(200, ""),
  "GET /ping": (_, call) => call.send(200, ""),
  "GET /version": (context, call) => call.json(200, { version: context.vllmVersion }),
  "GET /load": (context, call) => call.json(200, { server_load: context.engine.running }),
  "GET /get_world_size": (_, call) => call.json(200, { world_size: 1 }),
  "POST /tokenize": (context, call) => {
    const { body } = call
    const tokens = Array.isArray(body["messages"])
      ? renderChat(context, body)
      : (readPrompts(context, body["prompt"])[0] ?? [])
    const strings = body["return_token_strs"] === true ? tokens.map((id) => context.engine.model.textOf(id)) : null
    call.json(200, { count: tokens.length, max_model_len: context.contextTokens, tokens, token_strs: strings })
  },
  "POST /detokenize": (context, call) => {
    const ids = Array.isArray(call.body["tokens"]) ? call.body["tokens"].filter(isNumber) : []
    call.json(200, { prompt: context.engine.model.tokenizer.decode(ids) })
  },
  "POST /v1/chat/completions/render": (context, call) => {
    const ids = renderChat(context, call.body)
    call.json(200, {
      request_id: `chatcmpl-${context.nextId()}`,
      token_ids: ids,
      sampling_params: call.body,
      model: context.model,
    })
  },
  "POST /inference/v1/generate": generateTokens,
  "POST /inference/v1/abort_requests": abortRequests,
  "POST /abort_requests": abortRequests,
  "POST /pause": (context, call) => {
    const mode = call.query.get("mode") ?? "abort"
    if (!["abort", "wait", "keep"].includes(mode)) {
      throw new StubRefusal(400, `Input should be 'abort', 'wait' or 'keep', got ${mode}`, { param: "query.mode" })
    }
    context.paused = mode === "keep" ? "hold" : "refuse"
    if (mode === "abort") context.engine.abort()
    if (mode === "keep") context.engine.freeze()
    call.json(200, { status: "paused" })
  },
  "POST /resume": (context, call) => {
    context.paused = "no"
    context.engine.thaw()
    call.json(200, { status: "resumed" })
  },
  "GET /is_paused": (context, call) => call.json(200, { is_paused: context.paused !== "no" }),
  "GET /is_sleeping": (_, call) => call.json(200, { is_sleeping: false }),
  "POST /reset_prefix_cache": (_, call) => call.json(200, { success: true }),
  "GET /weight_info": (context, call) => call.json(200, { weight_version: context.engine.version }),
  "POST /update_weight_version": (context, call) => {
    context.engine.version = String(call.body["new_version"])
    call.json(200, { success: true, new_version: context.engine.version })
  },
  "POST /start_weight_update": (_, call) => call.json(200, { message: "Weight update started" }),
  "POST /update_weights": (_, call) => call.json(200, { message: "Weights updated" }),
  "POST /finish_weight_update": (context, call) => {
    const version = call.body["weight_version"]
    if (typeof version === "string") context.engine.version = version
    call.json(200, { message: "Weight update finished" })
  },
}

function abortRequests(...[context, call]: Parameters<StubHandler>): void {
  const ids = call.body["request_ids"]
  const aborted = context.engine.abort(Array.isArray(ids) ? ids.map(String) : undefined)
  call.json(200, { status: "aborted", aborted })
}

/** Token ids in, token ids out. */
async function generateTokens(...[context, call]: Parameters<StubHandler>): Promise<void> {
  if (!context.scaleOut) {
    throw new StubRefusal(403, "Scale-out endpoints are disabled. Restart with --enable-scale-out to enable them.")
  }
  const { body } = call
  const params = isObject(body["sampling_params"]) ? body["sampling_params"] : {}
  const [promptIds] = readPrompts(context, body["token_ids"])
  const wanted = readSampling({ max_tokens: context.contextTokens, ...params })
  const top = numberOr(params["logprobs"], -1)
  const request = fitToContext(context, { ...wanted, promptIds: promptIds ?? [], topLogprobs: Math.max(0, top) })
  const mode = typeof body["output_mode"] === "string" ? body["output_mode"] : "tokens"
  const head = {
    request_id: `generate-tokens-${context.nextId()}`,
    model: context.model,
    created: 0,
    output_mode: mode,
  }
  const shape = (piece: Piece): JsonObject => generatedChoice(context, piece, mode, top >= 0)
  const usageOf = (samples: readonly Sample[]): JsonObject => {
    const completion = samples.reduce((sum, { tokens }) => sum + tokens.length, 0)
    const prompt = request.promptIds.length
    return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion }
  }
  if (body["stream"] === true) {
    const samples = await generate(context, call, [request], (piece) => {
      call.event({ ...head, usage: null, choices: [shape(piece)] })
    })
    call.event({ ...head, choices: [], usage: usageOf(samples) })
    call.endEvents()
    return
  }
  const samples = await generate(context, call, [request])
  const scores = params["prompt_logprobs"]
  call.json(200, {
    ...head,
    usage: usageOf(samples),
    prompt_logprobs: typeof scores === "number" ? promptLogprobs(context, request.promptIds, scores) : null,
    prompt_token_ids: body["return_token_ids"] === true ? request.promptIds : null,
    choices: samples.map((sample, index) => shape(wholePiece(sample, index))),
  })
}

/** Ids everywhere, or text everywhere; the token ids of the answer stand there in both modes. */
function generatedChoice(context: StubContext, piece: Piece, mode: string, listed: boolean): JsonObject {
  const { model } = context.engine
  const { sample, last } = piece
  const entry = ({ id, logprob }: { id: number; logprob: number }, rank: number): JsonObject => {
    const token = model.textOf(id)
    return mode === "text" ? { token, logprob, bytes: [...Buffer.from(token)] } : { token_id: id, logprob, rank }
  }
  const content = tokensOf(piece).map((token) => ({
    ...entry(token, 1),
    top_logprobs: [entry(token, 1), ...token.top.map((other, rank) => entry(other, rank + 1))],
  }))
  return {
    index: piece.index,
    finish_reason: last ? sample.finishReason : null,
    stop_reason: last ? sample.stopReason : null,
    token_ids: tokensOf(piece).map(({ id }) => id),
    weight_versions: last ? sample.versions : null,
    ...(mode === "text" ? { text: textOf(piece) } : {}),
    logprobs: listed ? { content } : null,
  }
}
