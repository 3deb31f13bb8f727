import type {
  ChatCompletion,
  TextLogprob,
  TokenCompletion,
  ToolCall,
  TopTokens,
  Usage,
  VersionSpan,
} from "../inference-server.ts"
import { AnswerReader, isObject, type JsonObject } from "../transport/read.ts"
import { readVersionSpans } from "../versions.ts"
import { readFinishReason } from "./finish-reason.ts"

/** Choices in the order of their `index` (prompt-major for several prompts). */
export function readChoices(reader: AnswerReader, body: unknown): JsonObject[] {
  const choices = reader.objects(reader.object(body, "the body")["choices"], "choices")
  const indexOf = (choice: JsonObject): number => (typeof choice["index"] === "number" ? choice["index"] : 0)
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

/** A choice of `/completions` that was asked for token ids: exact, or an error. */
export function readTokenChoice(reader: AnswerReader, body: JsonObject, choice: JsonObject): TokenCompletion {
  const logprobs = reader.object(choice["logprobs"], "choices[].logprobs")
  const spelled = spelledIds(logprobs["tokens"])
  const ids = Array.isArray(choice["token_ids"]) ? reader.numbers(choice["token_ids"], "choices[].token_ids") : spelled
  if (ids === undefined) {
    throw reader.unreadable("choices[].token_ids", "a list", choice["token_ids"], noIdsHint)
  }
  const values = reader.numbers(logprobs["token_logprobs"], "choices[].logprobs.token_logprobs")
  checkLengths(reader, ids, values)
  const top = spelled === undefined ? undefined : readTopByText(logprobs["top_logprobs"])
  return {
    tokenIds: ids,
    logprobs: values,
    text: typeof choice["text"] === "string" ? choice["text"] : "",
    finishReason: readFinishReason(choice["finish_reason"]),
    versions: readSpans(body, choice),
    ...(top === undefined ? {} : { top }),
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

/** The ids in `"token_id:123"` spellings; undefined when the tokens are text. */
function spelledIds(tokens: unknown): number[] | undefined {
  if (!Array.isArray(tokens) || tokens.length === 0) return undefined
  const ids = tokens.map(spelledId)
  return ids.every((id) => id !== undefined) ? ids : undefined
}

function spelledId(token: unknown): number | undefined {
  const digits = typeof token === "string" ? /^token_id:(\d+)$/.exec(token)?.[1] : undefined
  return digits === undefined ? undefined : Number(digits)
}

/** Objects from spelled id to logprob; vLLM puts the sampled token first, whatever its rank. */
function readTopByText(positions: unknown): TopTokens | undefined {
  if (!Array.isArray(positions)) return undefined
  const top: TopTokens = { tokenIds: [], logprobs: [] }
  for (const position of positions) {
    const entries = isObject(position)
      ? Object.entries(position)
          .map(([token, logprob]) => [spelledId(token), logprob] as const)
          .filter((entry): entry is [number, number] => entry[0] !== undefined && typeof entry[1] === "number")
          .toSorted((a, b) => b[1] - a[1])
      : []
    top.tokenIds.push(entries.map(([id]) => id))
    top.logprobs.push(entries.map(([, logprob]) => logprob))
  }
  return top
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
export function readChatChoice(reader: AnswerReader, body: JsonObject, choice: JsonObject): ChatCompletion {
  const message = isObject(choice["message"]) ? choice["message"] : { content: choice["text"] }
  const content = message["content"]
  const reasoning = message["reasoning"] ?? message["reasoning_content"]
  const listed = isObject(choice["logprobs"]) ? readTextLogprobs(choice["logprobs"]) : undefined
  // vLLM calls them token_ids; SGLang's chat route response_token_ids.
  const ids = choice["token_ids"] ?? choice["response_token_ids"]
  const tokens =
    Array.isArray(ids) && listed !== undefined
      ? { ids: reader.numbers(ids, "choices[].token_ids"), logprobs: listed.map((entry) => entry.logprob) }
      : undefined
  if (tokens !== undefined) checkLengths(reader, tokens.ids, tokens.logprobs)
  return {
    text: typeof content === "string" ? content : "",
    ...(typeof reasoning === "string" ? { reasoning } : {}),
    toolCalls: readToolCalls(message["tool_calls"]),
    finishReason: readFinishReason(choice["finish_reason"]),
    ...(tokens === undefined ? {} : { tokens }),
    ...(listed === undefined || tokens !== undefined ? {} : { textLogprobs: listed }),
    versions: readSpans(body, choice),
  }
}

export function readPromptTokenIds(
  reader: AnswerReader,
  body: JsonObject,
  choice: JsonObject | undefined,
): number[] | undefined {
  const ids = body["prompt_token_ids"] ?? choice?.["prompt_token_ids"]
  return Array.isArray(ids) ? reader.numbers(ids, "prompt_token_ids") : undefined
}

function readToolCalls(calls: unknown): ToolCall[] {
  if (!Array.isArray(calls)) return []
  return calls.filter(isObject).map((call) => {
    const said = isObject(call["function"]) ? call["function"] : {}
    return {
      id: typeof call["id"] === "string" ? call["id"] : "",
      name: typeof said["name"] === "string" ? said["name"] : "",
      arguments: typeof said["arguments"] === "string" ? said["arguments"] : "",
    }
  })
}

/** Chat's `content[]`, or the parallel lists of `/completions`; undefined where there are none. */
function readTextLogprobs(logprobs: JsonObject): TextLogprob[] | undefined {
  const { content, tokens, token_logprobs: values, top_logprobs: tops } = logprobs
  if (Array.isArray(content) && (content.length > 0 || !Array.isArray(tokens) || tokens.length === 0)) {
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
    token: typeof entry["token"] === "string" ? entry["token"] : "",
    bytes: Array.isArray(entry["bytes"]) ? (entry["bytes"] as number[]) : null,
    logprob: numberOr(entry["logprob"], Number.NaN),
  }
}

function numberOr(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback
}
