import type { ChatTemplate } from "../../../chat/chat-template.ts"
import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import type { StubEngine } from "../engine.ts"
import type { StubFault } from "../faults.ts"
import type { ScriptedAnswer, StubRequest } from "../generation.ts"
import type { StubCall } from "../stub-call.ts"

/** Whose words the stub speaks. "any" has every route and tells `/generate` requests apart by their fields. */
export type StubDialect = "any" | "vllm" | "sglang" | "trl" | "openai" | "openrouter" | "atropos-vllm"

export const stubDialects = ["any", "vllm", "sglang", "trl", "openai", "openrouter", "atropos-vllm"] as const

/** What the routes work with. */
export interface StubContext {
  readonly dialect: StubDialect
  /** The name under which it serves. */
  readonly model: string
  readonly contextTokens: number
  readonly engine: StubEngine
  readonly template: ChatTemplate
  /** What a vLLM in its place would say of itself. */
  readonly vllmVersion: string
  /** Whether `/inference/v1/generate` is on. */
  readonly scaleOut: boolean
  /** How the stub takes requests: normally, not at all (503), or holding them. */
  paused: "no" | "refuse" | "hold"
  /** For what needs a name of its own: answers, calls. */
  nextId(): string
  /** Taken once a request for answers. */
  nextFault(call: StubCall): StubFault | undefined
  script(call: StubCall, promptIds: readonly number[], index: number): ScriptedAnswer | undefined
}

export type StubHandler = (context: StubContext, call: StubCall) => void | Promise<void>

/** By `METHOD /path`. */
export type StubRoutes = Readonly<Record<string, StubHandler>>

/** A refusal, in a form that each dialect writes in its own way. */
export class StubRefusal extends Error {
  readonly status: number
  readonly param: string | undefined
  readonly serverCode: string | undefined

  constructor(status: number, message: string, details: { param?: string; code?: string | undefined } = {}) {
    super(message)
    this.status = status
    this.param = details.param
    this.serverCode = details.code
  }
}

/** The sampling of a body with the names that vLLM, TRL and OpenAI share. */
export function readSampling(body: JsonObject): Omit<StubRequest, "promptIds"> {
  const number = (name: string, fallback: number): number => {
    const value = body[name]
    if (value === undefined || value === null) return fallback
    if (typeof value !== "number") throw new StubRefusal(400, `${name} must be a number`, { param: name })
    return value
  }
  const request = {
    n: number("n", 1),
    maxTokens: number("max_tokens", number("max_completion_tokens", number("max_new_tokens", 16))),
    sampling: {
      temperature: number("temperature", 1),
      topP: number("top_p", 1),
      topK: number("top_k", 0),
      minP: number("min_p", 0),
      minTokens: number("min_tokens", number("min_new_tokens", 0)),
      ignoreEos: body["ignore_eos"] === true,
      logitBias: readBias(body["logit_bias"]),
      seed: numberOr(body["seed"] ?? body["sampling_seed"], Number.NaN),
    },
    stop: readStrings(body["stop"]),
    stopTokenIds: Array.isArray(body["stop_token_ids"]) ? body["stop_token_ids"].filter(isNumber) : [],
    topLogprobs: 0,
  }
  const { temperature } = request.sampling
  if (request.n < 1) throw new StubRefusal(400, `n must be at least 1, got ${request.n}.`)
  if (temperature < 0) {
    throw new StubRefusal(400, `temperature must be non-negative, got ${temperature}.`, { param: "temperature" })
  }
  const { seed, ...sampling } = request.sampling
  return { ...request, sampling: { ...sampling, seed: Number.isNaN(seed) ? undefined : seed } }
}

/** Refuses prompts that are empty, out of vocabulary or without room for an answer; clips the answer to the context. */
export function fitToContext(context: StubContext, request: StubRequest): StubRequest {
  const size = context.engine.model.tokenizer.vocabularySize
  const { length } = request.promptIds
  if (length === 0) throw new StubRefusal(400, "You must pass at least one prompt", { param: "prompt" })
  const bad = request.promptIds.find((id) => !Number.isInteger(id) || id < 0 || id >= size)
  if (bad !== undefined) throw new StubRefusal(400, `Token id ${bad} is out of vocabulary`)
  const room = context.contextTokens - length
  if (room < 1) {
    throw new StubRefusal(
      400,
      `This model's maximum context length is ${context.contextTokens} tokens. However, your prompt contains at least ${length} input tokens.`,
      { param: "input_tokens", code: "context_length_exceeded" },
    )
  }
  return { ...request, maxTokens: Math.min(request.maxTokens, room) }
}

/** One prompt or several, each a text or a list of ids. */
export function readPrompts(context: StubContext, prompt: unknown): number[][] {
  if (typeof prompt === "string") return [context.engine.model.tokenizer.encode(prompt)]
  if (!Array.isArray(prompt)) throw new StubRefusal(400, "prompt must be text or token ids", { param: "prompt" })
  if (prompt.every(isNumber)) return [prompt]
  return prompt.flatMap((entry) => readPrompts(context, entry))
}

/** Conversation to ids, by the stub's chat template. */
export function renderChat(context: StubContext, body: JsonObject): number[] {
  const { messages, tools } = body
  if (!Array.isArray(messages)) throw new StubRefusal(400, "messages must be a list", { param: "messages" })
  const text = context.template.render({
    messages: messages.filter(isObject).map((message) => ({ role: "user", ...message })),
    tools:
      Array.isArray(tools) && tools.length > 0
        ? (tools as Parameters<typeof context.template.render>[0]["tools"] & object)
        : null,
    addGenerationPrompt: body["add_generation_prompt"] !== false,
    continueFinalMessage: body["continue_final_message"] === true,
  })
  return context.engine.model.tokenizer.encode(text)
}

function readBias(bias: unknown): ReadonlyMap<number, number> {
  if (!isObject(bias)) return new Map()
  return new Map(Object.entries(bias).map(([id, value]) => [Number(id), numberOr(value, 0)]))
}

function readStrings(value: unknown): string[] {
  if (typeof value === "string") return [value]
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : []
}

export function isNumber(value: unknown): value is number {
  return typeof value === "number"
}
