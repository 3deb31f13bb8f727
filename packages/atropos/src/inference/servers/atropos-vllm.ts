import type { RequestOptions, SamplingOptions, TokenCompletion, TokenCompletions } from "../inference-server.ts"
import { samplingDepartures } from "../sampling.ts"
import { isObject, type AnswerReader } from "../transport/read.ts"
import type { ServerConnection } from "./connection.ts"
import { readFinishReason } from "./finish-reason.ts"
import { namedSampling } from "./openai-bodies.ts"

/** `POST /generate` of the original's own vLLM server: one list a kind of fact, one entry a sample. */
export async function askAtroposVllm(
  connection: ServerConnection,
  prompt: readonly number[],
  sampling: SamplingOptions,
  options: RequestOptions,
): Promise<TokenCompletions> {
  const { reader } = connection
  const body = await connection.ask(
    connection.own("/generate"),
    { prompt: { prompt_token_ids: prompt }, ...namedSampling(sampling), logprobs: 0, ...sampling.extra },
    options.signal,
  )
  const samples = reader.array(body["logprobs"], "logprobs")
  const reasons = reader.array(body["finish_reasons"], "finish_reasons")
  const texts = Array.isArray(body["text"]) ? body["text"] : []
  const ids = Array.isArray(body["token_ids"]) ? body["token_ids"] : []
  const choices = samples.map((positions, index) => {
    const text: unknown = texts[index]
    return {
      ...readPositions(reader, positions, ids[index]),
      text: typeof text === "string" ? text : "",
      finishReason: readFinishReason(reasons[index]),
      versions: [],
    }
  })
  for (const [index, { text, tokenIds, logprobs, finishReason }] of choices.entries()) {
    options.onDelta?.({ choice: index, text, tokenIds, logprobs, finishReason })
  }
  return {
    choices,
    logprobsMode: connection.options.logprobsMode ?? "raw",
    departures: samplingDepartures(sampling),
    usage: {
      promptTokens: prompt.length,
      completionTokens: choices.reduce((sum, choice) => sum + choice.tokenIds.length, 0),
    },
  }
}

/** Positions are lists whose first object holds the sampled token; without `token_ids` its first key is the id. */
function readPositions(
  reader: AnswerReader,
  positions: unknown,
  said: unknown,
): Pick<TokenCompletion, "tokenIds" | "logprobs"> {
  const known = Array.isArray(said) ? reader.numbers(said, "token_ids[]") : undefined
  const tokenIds: number[] = []
  const logprobs: number[] = []
  for (const [index, position] of reader.array(positions, "logprobs[]").entries()) {
    const first: unknown = Array.isArray(position) ? position[0] : position
    const entries = isObject(first) ? Object.entries(first) : []
    const id = known?.[index] ?? Number(entries[0]?.[0])
    const entry = entries.find(([key]) => Number(key) === id)
    tokenIds.push(reader.number(entry === undefined ? undefined : id, "logprobs[][] with the sampled id"))
    logprobs.push(reader.number(entry?.[1], "logprobs[][]"))
  }
  return { tokenIds, logprobs }
}
