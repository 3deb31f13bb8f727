// Turns a recorded request into a call of the adapter, and what comes of it into comparable facts.
import type {
  ChatCompletions,
  ChatRequest,
  CompletionDelta,
  SamplingOptions,
  TokenCompletions,
  VersionSpan,
} from "../../../packages/atropos/src/inference/inference-server.ts"
import { openServer, type SingleServer } from "../../../packages/atropos/src/inference/servers/open-server.ts"
import type { ServerType } from "../../../packages/atropos/src/inference/servers/server-config.ts"
import type { Tokenizer } from "../../../packages/atropos/src/chat/tokenizer.ts"
import { endOfTrlModel, type Expected, type ExpectedChoice } from "./expected.ts"
import { asObject, type Json, type Transcript } from "./transcript.ts"

/** What the adapter made of an answer; `deltas` are the pieces of a stream put together. */
export interface Driven {
  answer: Expected
  deltas: ExpectedChoice[] | undefined
}

const textRoutes = ["/v1/completions", "/v1/chat/completions", "/v1/responses", "/v1/messages"]

/** The adapter for a transcript, at the address where it is played. */
export function openFor(transcript: Transcript, url: string): SingleServer {
  const { server, request } = transcript
  const named = asObject(request.body)["model"]
  const model = typeof named === "string" ? named : "tiny-qwen3"
  const prefix = request.path.startsWith("/api/") ? "/api/v1" : "/v1"
  const options = { baseUrl: `${url}${prefix}`, apiKey: "KEY", model, tokenizer: recordedTokenizer, timeoutMs: 10_000 }
  if (request.path === "/v1/responses") return openServer("openai", { ...options, api: "responses" })
  if (request.path === "/v1/messages") return openServer("openai", { ...options, api: "messages" })
  // SGLang's adapter has no use for that route, but an OpenAI client of SGLang has.
  if (server === "sglang" && request.path === "/v1/completions") return openServer("openai", options)
  return openServer(types[server] ?? "openai", server === "trl" ? { ...options, baseUrl: url } : options)
}

const types: Record<string, ServerType> = {
  openai: "openai",
  openrouter: "openai",
  vllm: "vllm",
  "atropos-vllm": "vllm",
  sglang: "sglang",
  trl: "trl",
}

export function isKnownServer({ server }: Transcript): boolean {
  return server in types
}

/** Whether the recorded request is one for a completion, as against one of the server's other routes. */
export function isCompletion(transcript: Transcript): boolean {
  const path = transcript.request.path.replace("/api/", "/")
  const own = ["/generate", "/generate/", "/chat/", "/inference/v1/generate"]
  return transcript.request.method === "POST" && (textRoutes.includes(path) || own.includes(path))
}

export async function drive(server: SingleServer, transcript: Transcript, expected: Expected): Promise<Driven> {
  const body = transcript.request.body ?? {}
  const streamed = transcript.response.sse !== undefined
  const deltas: ExpectedChoice[] = []
  const options = streamed ? { onDelta: (delta: CompletionDelta) => addDelta(deltas, delta) } : {}
  const answer = await ask(server, transcript, body, expected, options)
  return { answer, deltas: streamed ? deltas : undefined }
}

async function ask(
  server: SingleServer,
  transcript: Transcript,
  body: Json,
  expected: Expected,
  options: { onDelta?: (delta: CompletionDelta) => void },
): Promise<Expected> {
  const { path } = transcript.request
  const sampling = readSampling(transcript, body)
  if (Array.isArray(body["messages"]) || path.endsWith("/responses")) {
    return fromText(await server.chat(readChat(transcript, body, expected), options))
  }
  const exact = expected.choices.every((choice) => choice.ids !== undefined && choice.logprobs !== undefined)
  if (exact && !(transcript.server === "sglang" && path === "/v1/completions") && body["echo"] !== true) {
    const prompt = readPromptIds(body) ?? [1]
    return fromTokens(await server.completeTokens(prompt, sampling, options))
  }
  return fromText(await server.complete("Hi", sampling, options))
}

/** Fields that adapters write themselves. */
const handled = new Set([
  "model",
  "messages",
  "tools",
  "tool_choice",
  "chat_template_kwargs",
  "stream",
  "stream_options",
  "token_ids",
  "sampling_params",
  "generation_kwargs",
  "return_logprob",
  "return_token_ids",
  "return_prompt_token_ids",
  "return_weight_versions",
  "logprobs",
  "input_ids",
  "text",
  "prompts",
  "prompt",
  "output_mode",
  "input",
  "max_output_tokens",
])

const names: Record<string, keyof SamplingOptions> = {
  n: "n",
  max_tokens: "maxTokens",
  max_new_tokens: "maxTokens",
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  min_p: "minP",
  repetition_penalty: "repetitionPenalty",
  stop: "stop",
  stop_token_ids: "stopTokenIds",
  min_tokens: "minTokens",
  min_new_tokens: "minTokens",
  ignore_eos: "ignoreEos",
  logit_bias: "logitBias",
  seed: "seed",
  sampling_seed: "seed",
}

function readSampling(transcript: Transcript, body: Json): SamplingOptions {
  const fields = { ...body, ...asObject(body["sampling_params"]), ...asObject(body["generation_kwargs"]) }
  const sampling: Record<string, unknown> = { maxTokens: fields["max_output_tokens"] ?? 16 }
  const extra: Json = {}
  for (const [name, value] of Object.entries(fields)) {
    const option = names[name]
    if (option !== undefined) sampling[option] = option === "stop" && typeof value === "string" ? [value] : value
    else if (!handled.has(name)) extra[name] = value
  }
  if (typeof fields["logprobs"] === "number") {
    // In its text mode the route lists alternatives without ids, for which the adapter does not ask.
    if (body["output_mode"] === "text") extra["logprobs"] = fields["logprobs"]
    else sampling["topLogprobs"] = fields["logprobs"]
  }
  if (typeof fields["top_logprobs_num"] === "number") sampling["topLogprobs"] = fields["top_logprobs_num"]
  // Several prompts at once go through as they are.
  const lists = [body["prompt"], body["input_ids"]].find((value) => Array.isArray(value) && Array.isArray(value[0]))
  if (lists !== undefined) extra[body["prompt"] === lists ? "prompt" : "input_ids"] = lists
  if (transcript.server === "sglang" && transcript.request.path === "/v1/completions") extra["return_token_ids"] = true
  return { ...(sampling as unknown as SamplingOptions), extra }
}

function readChat(transcript: Transcript, body: Json, expected: Expected): ChatRequest {
  const { maxTokens, ...sampling } = readSampling(transcript, body)
  const given = body["max_tokens"] ?? body["max_output_tokens"]
  const exact = expected.choices.every((choice) => choice.ids !== undefined && choice.logprobs !== undefined)
  const listed = transcript.server === "openai" || transcript.request.path.endsWith("/responses")
  const messages = Array.isArray(body["messages"]) ? body["messages"] : [{ role: "user", content: body["input"] }]
  const logprobs = body["logprobs"] === true && !exact && !listed ? { logprobs: true } : {}
  const ids = body["return_token_ids"] === true && !exact ? { return_token_ids: true } : {}
  return {
    // TRL takes a list of conversations; the adapter makes one of its one.
    messages:
      transcript.server === "trl" ? (messages[0] as ChatRequest["messages"]) : (messages as ChatRequest["messages"]),
    ...(Array.isArray(body["tools"]) ? { tools: body["tools"] } : {}),
    ...(body["tool_choice"] === undefined ? {} : { toolChoice: body["tool_choice"] }),
    ...(body["chat_template_kwargs"] === undefined ? {} : { templateOptions: asObject(body["chat_template_kwargs"]) }),
    sampling: {
      ...sampling,
      ...(given === undefined ? {} : { maxTokens }),
      extra: { ...sampling.extra, ...logprobs, ...ids },
    },
    logprobs: exact || (listed && expected.choices.some((choice) => choice.logprobs !== undefined)),
  }
}

function readPromptIds(body: Json): number[] | undefined {
  const wrapped = asObject(body["prompt"])["prompt_token_ids"]
  for (const value of [body["prompt"], body["input_ids"], body["token_ids"], wrapped, asFirst(body["prompts"])]) {
    if (Array.isArray(value) && typeof value[0] === "number") return value as number[]
  }
  return undefined
}

function asFirst(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}

function fromTokens(said: TokenCompletions): Expected {
  return {
    choices: said.choices.map((choice) => ({
      ids: choice.tokenIds,
      logprobs: choice.logprobs,
      finish: choice.finishReason,
      versions: namedSpans(choice.versions),
    })),
    usage: usageOf(said.usage),
  }
}

function fromText(said: ChatCompletions): Expected {
  return {
    choices: said.choices.map((choice) => {
      const logprobs = choice.logprobs ?? choice.textLogprobs?.map((entry) => entry.logprob)
      return {
        finish: choice.finishReason,
        versions: namedSpans(choice.versions),
        ...(choice.tokenIds === undefined ? {} : { ids: choice.tokenIds }),
        ...(logprobs === undefined ? {} : { logprobs }),
      }
    }),
    usage: usageOf(said.usage),
    ...(said.promptTokenIds === undefined ? {} : { promptIds: said.promptTokenIds }),
  }
}

function usageOf(usage: TokenCompletions["usage"]): Expected["usage"] {
  const { promptTokens: prompt, completionTokens: completion, cachedTokens: cached } = usage
  return { prompt, completion, ...(cached === undefined ? {} : { cached }) }
}

function namedSpans(spans: readonly VersionSpan[]): NonNullable<ExpectedChoice["versions"]> {
  return spans.map(({ version, label, start, end }) => ({ version: label ?? String(version), start, end }))
}

function addDelta(choices: ExpectedChoice[], delta: CompletionDelta): void {
  const choice = (choices[delta.choice] ??= { finish: "null" })
  if (delta.tokenIds !== undefined) choice.ids = [...(choice.ids ?? []), ...delta.tokenIds]
  if (delta.logprobs !== undefined) choice.logprobs = [...(choice.logprobs ?? []), ...delta.logprobs]
  if (delta.finishReason !== undefined) choice.finish = delta.finishReason
}

/** Of the recorded model only its end is needed; texts are not compared. */
const recordedTokenizer: Tokenizer = {
  name: "tiny-qwen3",
  vocabularySize: 151_936,
  bosToken: undefined,
  eosToken: "<|im_end|>",
  eosTokenId: endOfTrlModel,
  stopTokenIds: [endOfTrlModel],
  chatTemplate: undefined,
  toolChatTemplate: undefined,
  specialTokens: {},
  addedTokens: new Map(),
  encode: () => [],
  decode: (ids) => `${ids.length} tokens`,
  tokenToId: () => undefined,
  idToToken: () => undefined,
  isAddedToken: () => false,
}
