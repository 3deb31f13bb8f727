import type { TokenIdList } from "../../chat/token-ids.ts"
import type { ChatCompletions, RequestOptions, SamplingOptions, TokenCompletions } from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { isObject, type JsonObject } from "../transport/read.ts"
import type { ServerConnection } from "./connection.ts"
import { readFinishReason } from "./finish-reason.ts"
import { namedSampling } from "./openai-bodies.ts"

/** `POST /generate` of the original's own vLLM server: one list a kind of fact, one entry a sample. */
export async function completeTokensAtAtroposVllm(
  connection: ServerConnection,
  prompt: TokenIdList,
  sampling: SamplingOptions,
  options: RequestOptions,
): Promise<TokenCompletions> {
  const { choices, ...said } = await ask(connection, { prompt_token_ids: prompt }, sampling, options)
  return {
    ...said,
    choices: choices.map(({ tokenIds, logprobs, ...choice }) => {
      if (tokenIds !== undefined && logprobs !== undefined) return { ...choice, tokenIds, logprobs }
      throw connection.reader.unreadable("logprobs", "a list", undefined)
    }),
    usage: {
      promptTokens: prompt.length,
      completionTokens: choices.reduce((sum, choice) => sum + (choice.tokenIds?.length ?? 0), 0),
    },
  }
}

/** The same route with a text, of which the server does not tell the tokens' number. */
export async function completeAtAtroposVllm(
  connection: ServerConnection,
  prompt: string,
  sampling: SamplingOptions,
  options: RequestOptions,
): Promise<ChatCompletions> {
  const { choices, promptTokenIds, ...said } = await ask(connection, prompt, sampling, options)
  return {
    ...said,
    ...(promptTokenIds === undefined ? {} : { promptTokenIds }),
    choices: choices.map((choice) => ({ ...choice, toolCalls: [] })),
    usage: {
      promptTokens: promptTokenIds?.length ?? 0,
      completionTokens: choices.reduce((sum, choice) => sum + (choice.tokenIds?.length ?? 0), 0),
    },
  }
}

async function ask(
  connection: ServerConnection,
  prompt: string | { prompt_token_ids: TokenIdList },
  sampling: SamplingOptions,
  options: RequestOptions,
) {
  const { reader } = connection
  const body = await connection.ask(
    connection.own("/generate"),
    { prompt, ...namedSampling(sampling), logprobs: 0, ...sampling.extra },
    options.signal,
  )
  const texts = reader.array(body["text"], "text")
  const promptIds = body["prompt_token_ids"]
  const choices = reader.array(body["finish_reasons"], "finish_reasons").map((reason, index) => ({
    text: reader.string(texts[index], "text[]"),
    finishReason: readFinishReason(reason),
    versions: [],
    ...readTokens(connection, body, index),
  }))
  for (const [index, { text, tokenIds, logprobs, finishReason }] of choices.entries()) {
    const tokens = tokenIds === undefined || logprobs === undefined ? {} : { tokenIds, logprobs }
    options.onDelta?.({ choice: index, text, ...tokens, finishReason })
  }
  return {
    choices,
    ...(Array.isArray(promptIds) ? { promptTokenIds: reader.numbers(promptIds, "prompt_token_ids") } : {}),
    logprobsMode: connection.options.logprobsMode ?? ("raw" as const),
    departures: samplingDepartures(sampling),
  }
}

/** Positions are lists whose first object holds the sampled token; without `token_ids` its key is the id. */
function readTokens(
  { reader }: ServerConnection,
  body: JsonObject,
  index: number,
): { tokenIds?: number[]; logprobs?: number[] } {
  if (!Array.isArray(body["logprobs"])) return {}
  const said: unknown = Array.isArray(body["token_ids"]) ? body["token_ids"][index] : undefined
  const known = Array.isArray(said) ? reader.numbers(said, "token_ids[]") : undefined
  const tokenIds: number[] = []
  const logprobs: number[] = []
  for (const [at, position] of reader.array(body["logprobs"][index], "logprobs[]").entries()) {
    const first: unknown = Array.isArray(position) ? position[0] : position
    const entries = isObject(first) ? Object.entries(first) : []
    // Objects lose the order of such keys, so of several the sampled one is known by its id alone.
    const id = known?.[at] ?? (entries.length === 1 ? Number(entries[0]?.[0]) : undefined)
    const entry = entries.find(([key]) => Number(key) === id)
    tokenIds.push(reader.number(entry === undefined ? undefined : id, "logprobs[][] with the sampled id"))
    logprobs.push(reader.number(entry?.[1], "logprobs[][]"))
  }
  return { tokenIds, logprobs }
}
