import type {
  ChatCompletion,
  ChatCompletions,
  LogprobsMode,
  PromptLogprobs,
  TextLogprob,
  TokenCompletion,
  ToolCall,
  TopTokens,
  Usage,
  VersionSpan,
} from "../inference-server.ts"
import { isObject, numberOr, textOr, type AnswerReader, type JsonObject } from "../transport/read.ts"
import { readVersionSpans } from "../versions.ts"
import { readFinishReason } from "./finish-reason.ts"

/** Choices in the order of their `index` (prompt-major for several prompts). */
export function readChoices(reader: AnswerReader, body: unknown): JsonObject[] {
  const choices = reader.objects(reader.object(body, "the body")["choices"], "choices")
  const indexOf = (choice: JsonObject): number => numberOr(choice["index"], 0)
  return choices.toSorted((a, b) => indexOf(a) - indexOf(b))
}

export function readUsage(body: JsonObject): Usage {
  const usage = isObject(body["usage"]) ? body["usage"] : {}
  const prompt = isObject(usage["prompt_tokens_details"]) ? usage["prompt_tokens_details"] : {}
  const completion = isObject(usage["completion_tokens_details"]) ? usage["completion_tokens_details"] : {}
  const cached = prompt["cached_tokens"]
  const reasoning = completion["reasoning_tokens"] ?? usage["reasoning_tokens"]
  return {
    promptTokens: numberOr(usage["prompt_tokens"], 0),
    completionTokens: numberOr(usage["completion_tokens"], 0),
    ...(typeof cached === "number" ? { cachedTokens: cached } : {}),
    ...(typeof reasoning === "number" ? { reasoningTokens: reasoning } : {}),
  }
}

/** A choice of a route that was asked for token ids (`/completions`, `/inference/v1/generate`): exact, or an error. */
export function readTokenChoice(reader: AnswerReader, body: JsonObject, choice: JsonObject): TokenCompletion {
  const logprobs = reader.object(choice["logprobs"], "choices[].logprobs")
  const sampled = readSampled(reader, logprobs)
  const said = choice["token_ids"]
  const ids = Array.isArray(said) ? reader.numbers(said, "choices[].token_ids") : sampled.ids
  if (ids === undefined) throw reader.unreadable("choices[].token_ids", "a list", said, noIdsHint)
  checkLengths(reader, ids, sampled.logprobs)
  return {
    tokenIds: ids,
    logprobs: sampled.logprobs,
    text: textOr(choice["text"], ""),
    finishReason: readFinishReason(choice["finish_reason"]),
    versions: readSpans(body, choice),
    ...(sampled.top === undefined ? {} : { top: sampled.top }),
  }
}

const noIdsHint = "token ids need vLLM 0.10.2 or SGLang 0.5.18, or the server ignores return_token_ids"

function checkLengths(reader: AnswerReader, ids: readonly number[], logprobs: readonly number[]): void {
  if (ids.length !== logprobs.length) {
    throw reader.unreadable(
      "logprobs",
      `${ids.length} numbers, one a token id`,
      logprobs,
      `received ${logprobs.length}`,
    )
  }
}

/** Logprobs of the sampled tokens, with what ids stand beside them: parallel lists, or one object a token. */
function readSampled(
  reader: AnswerReader,
  logprobs: JsonObject,
): { logprobs: number[]; ids: number[] | undefined; top: TopTokens | undefined } {
  const { content, tokens, token_logprobs: values, top_logprobs: tops } = logprobs
  if (Array.isArray(content)) {
    const entries = reader.objects(content, "choices[].logprobs.content")
    const ids = entries.map((entry) => entry["token_id"])
    const exact = entries.length > 0 && ids.every((id) => typeof id === "number")
    return {
      logprobs: entries.map((entry) => reader.number(entry["logprob"], "choices[].logprobs.content[].logprob")),
      ids: exact ? ids : undefined,
      top: exact ? topTokens(entries.map((entry) => rankedEntries(entry["top_logprobs"]))) : undefined,
    }
  }
  const ids = Array.isArray(tokens) && tokens.length > 0 ? tokens.map(spelledId) : []
  const exact = ids.length > 0 && ids.every((id) => id !== undefined)
  return {
    logprobs: reader.numbers(values, "choices[].logprobs.token_logprobs"),
    ids: exact ? ids : undefined,
    top: exact && Array.isArray(tops) ? topTokens(tops.map(spelledEntries)) : undefined,
  }
}

/** The id in a `"token_id:123"` spelling. */
export function spelledId(token: unknown): number | undefined {
  const digits = typeof token === "string" ? /^token_id:(\d+)$/.exec(token)?.[1] : undefined
  return digits === undefined ? undefined : Number(digits)
}

type TopEntries = (readonly [id: number, logprob: number])[]

function spelledEntries(position: unknown): TopEntries {
  if (!isObject(position)) return []
  return Object.entries(position).flatMap(([token, logprob]) => {
    const id = spelledId(token)
    return id !== undefined && typeof logprob === "number" ? [[id, logprob] as const] : []
  })
}

function rankedEntries(entries: unknown): TopEntries {
  if (!Array.isArray(entries)) return []
  return entries.flatMap((entry) =>
    isObject(entry) && typeof entry["token_id"] === "number" && typeof entry["logprob"] === "number"
      ? [[entry["token_id"], entry["logprob"]] as const]
      : [],
  )
}

/** Best first: vLLM puts the sampled token first, whatever its rank. */
function topTokens(positions: readonly TopEntries[]): TopTokens {
  const sorted = positions.map((entries) => entries.toSorted((a, b) => b[1] - a[1]))
  return {
    tokenIds: sorted.map((entries) => entries.map(([id]) => id)),
    logprobs: sorted.map((entries) => entries.map(([, logprob]) => logprob)),
  }
}

/** The prompt's logprobs as vLLM gives them: an object from id to `{logprob, rank}` a position, null for the first. */
export function readPromptLogprobs(
  reader: AnswerReader,
  positions: unknown,
  prompt: readonly number[],
  topK: number,
): PromptLogprobs {
  const list = reader.array(positions, "prompt_logprobs")
  if (list.length !== prompt.length) {
    throw reader.unreadable(
      "prompt_logprobs",
      `${prompt.length} entries, one a prompt token`,
      list,
      `received ${list.length}`,
    )
  }
  const result: PromptLogprobs = { logprobs: [], top: { tokenIds: [], logprobs: [] } }
  list.forEach((position, index) => {
    const entries = isObject(position)
      ? Object.entries(position).map(([id, said]) => ({
          id: Number(id),
          logprob: isObject(said) ? reader.number(said["logprob"], "prompt_logprobs[].logprob") : Number(said),
          rank: isObject(said) && typeof said["rank"] === "number" ? said["rank"] : undefined,
        }))
      : []
    const own = entries.find(({ id }) => id === prompt[index])
    if (index > 0 && own === undefined) {
      throw reader.unreadable(
        `prompt_logprobs[${index}]`,
        `an object with the prompt's token ${prompt[index]}`,
        position,
      )
    }
    // The prompt's own token is listed even when it is not among the best.
    const best = entries
      .toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || b.logprob - a.logprob)
      .filter(({ rank }) => rank === undefined || rank <= topK)
      .slice(0, topK)
    result.logprobs.push(own?.logprob ?? null)
    result.top.tokenIds.push(best.map(({ id }) => id))
    result.top.logprobs.push(best.map(({ logprob }) => logprob))
  })
  return result
}

/** vLLM says it in the choice; SGLang beside the choices, and of the first one only. */
function readSpans(body: JsonObject, choice: JsonObject): VersionSpan[] {
  const own = choice["weight_versions"]
  if (Array.isArray(own)) return readVersionSpans(own)
  const metadata = body["metadata"]
  const first = (choice["index"] ?? 0) === 0
  return first && isObject(metadata) && Array.isArray(metadata["weight_versions"])
    ? readVersionSpans(metadata["weight_versions"])
    : []
}

/** A choice of `/chat/completions` or, with its text as the message, of `/completions`. */
function readChatChoice(reader: AnswerReader, body: JsonObject, choice: JsonObject): ChatCompletion {
  const message = isObject(choice["message"]) ? choice["message"] : { content: choice["text"] }
  const content = message["content"]
  const reasoning = message["reasoning"] ?? message["reasoning_content"]
  const listed = isObject(choice["logprobs"]) ? readTextLogprobs(choice["logprobs"]) : undefined
  // vLLM calls them token_ids; SGLang's chat route response_token_ids.
  const ids = choice["token_ids"] ?? choice["response_token_ids"]
  const tokenIds = Array.isArray(ids) ? reader.numbers(ids, "choices[].token_ids") : undefined
  // An echoed prompt is in the list of logprobs and not among the ids; its first token has none.
  const echoed = listed !== undefined && Number.isNaN(listed[0]?.logprob)
  const logprobs = echoed ? undefined : listed?.map((entry) => entry.logprob)
  if (tokenIds !== undefined && logprobs !== undefined) checkLengths(reader, tokenIds, logprobs)
  return {
    text: textOr(content, ""),
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    toolCalls: readToolCalls(message["tool_calls"]),
    finishReason: readFinishReason(choice["finish_reason"]),
    ...(tokenIds === undefined ? {} : { tokenIds }),
    ...(tokenIds === undefined || logprobs === undefined ? {} : { logprobs }),
    ...(listed === undefined || (tokenIds !== undefined && !echoed) ? {} : { textLogprobs: listed }),
    versions: readSpans(body, choice),
  }
}

/** A whole answer of a chat or text route. */
export function readChatAnswer(
  reader: AnswerReader,
  body: JsonObject,
  said: { logprobsMode: LogprobsMode; departures: readonly string[] },
): ChatCompletions {
  const choices = readChoices(reader, body)
  const ids = body["prompt_token_ids"] ?? choices[0]?.["prompt_token_ids"]
  return {
    choices: choices.map((choice) => readChatChoice(reader, body, choice)),
    ...(Array.isArray(ids) ? { promptTokenIds: reader.numbers(ids, "prompt_token_ids") } : {}),
    ...said,
    usage: readUsage(body),
  }
}

function readToolCalls(calls: unknown): ToolCall[] {
  if (!Array.isArray(calls)) return []
  return calls.filter(isObject).map((call) => {
    const said = isObject(call["function"]) ? call["function"] : {}
    return {
      id: textOr(call["id"], ""),
      name: textOr(said["name"], ""),
      arguments: textOr(said["arguments"], ""),
    }
  })
}

/** Chat's `content[]`, or the parallel lists of `/completions`; undefined where there are none. */
export function readTextLogprobs(logprobs: JsonObject): TextLogprob[] | undefined {
  const { content, tokens, token_logprobs: values, top_logprobs: tops } = logprobs
  if (Array.isArray(content)) {
    return content.filter(isObject).map((entry) => ({
      ...readTextLogprob(entry),
      top: Array.isArray(entry["top_logprobs"]) ? entry["top_logprobs"].filter(isObject).map(readTextLogprob) : [],
    }))
  }
  if (!Array.isArray(tokens) || !Array.isArray(values)) return undefined
  return tokens.map((token, index) => {
    const top: unknown = Array.isArray(tops) ? tops[index] : undefined
    return {
      token: String(token),
      bytes: null,
      logprob: numberOr(values[index], Number.NaN),
      top: isObject(top)
        ? Object.entries(top).map(([text, value]) => ({
            token: text,
            bytes: null,
            logprob: numberOr(value, Number.NaN),
          }))
        : [],
    }
  })
}

function readTextLogprob(entry: JsonObject): { token: string; bytes: readonly number[] | null; logprob: number } {
  return {
    token: textOr(entry["token"], ""),
    bytes: Array.isArray(entry["bytes"]) ? (entry["bytes"] as number[]) : null,
    logprob: numberOr(entry["logprob"], Number.NaN),
  }
}
