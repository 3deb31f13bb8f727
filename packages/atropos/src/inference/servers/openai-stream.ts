import type { CompletionDelta, ToolCallDelta } from "../inference-server.ts"
import { isObject, numberOr, textOr, type JsonObject } from "../transport/read.ts"
import { readFinishReason } from "./finish-reason.ts"
import { spelledId } from "./openai-answers.ts"

/** The choices of a stream as they grow, in the shape of an answer that came whole. */
interface GrowingChoice extends JsonObject {
  index: number
  logprobs: Partial<Record<(typeof logprobLists)[number], unknown[]>> | null
}

const logprobLists = ["content", "tokens", "token_logprobs", "top_logprobs"] as const

/**
 * Puts the chunks of a `/chat/completions` or `/completions` stream together to the body that the same
 * request without `stream` would have had, so that one reader serves both.
 */
export class OpenAiStream {
  readonly #choices = new Map<number, GrowingChoice>()
  readonly #top: JsonObject = {}
  readonly #onDelta: ((delta: CompletionDelta) => void) | undefined

  constructor(onDelta?: (delta: CompletionDelta) => void) {
    this.#onDelta = onDelta
  }

  add(chunk: unknown): void {
    if (!isObject(chunk)) return
    for (const field of ["usage", "prompt_token_ids", "metadata", "output_mode"]) {
      if (chunk[field] !== undefined && chunk[field] !== null) this.#top[field] = chunk[field]
    }
    for (const piece of Array.isArray(chunk["choices"]) ? chunk["choices"] : []) {
      if (isObject(piece)) this.#addPiece(piece)
    }
  }

  /** Whether every choice seen has said why it ended; a stream that stops before was cut. */
  get complete(): boolean {
    if (this.#choices.size === 0) return false
    for (const choice of this.#choices.values()) if (typeof choice["finish_reason"] !== "string") return false
    return true
  }

  /** The whole answer. */
  body(): JsonObject {
    const choices = [...this.#choices.values()].toSorted((a, b) => a.index - b.index)
    return { ...this.#top, choices }
  }

  #addPiece(piece: JsonObject): void {
    const index = numberOr(piece["index"], 0)
    const choice = this.#choices.get(index) ?? { index, logprobs: null }
    this.#choices.set(index, choice)
    for (const field of ["finish_reason", "stop_reason", "weight_versions", "prompt_token_ids", "matched_stop"]) {
      if (piece[field] !== undefined && piece[field] !== null) choice[field] = piece[field]
    }
    const ids = piece["token_ids"]
    if (Array.isArray(ids)) append(choice, "token_ids", ids)
    if (isObject(piece["logprobs"])) {
      choice.logprobs ??= {}
      for (const field of logprobLists) {
        const list = piece["logprobs"][field]
        if (Array.isArray(list)) append(choice.logprobs, field, list)
      }
    }
    const text = piece["text"]
    if (typeof text === "string") choice["text"] = `${textOr(choice["text"], "")}${text}`
    const delta = isObject(piece["delta"]) ? piece["delta"] : undefined
    const toolCalls = delta === undefined ? [] : addToMessage(choice, delta)
    this.#onDelta?.(toDelta(index, piece, delta, toolCalls))
  }
}

function append(target: JsonObject, field: string, entries: readonly unknown[]): void {
  const list = target[field]
  if (Array.isArray(list)) for (const entry of entries) list.push(entry)
  else target[field] = [...entries]
}

/** Adds a chat delta to the choice's message and returns its tool-call pieces. */
function addToMessage(choice: GrowingChoice, delta: JsonObject): ToolCallDelta[] {
  const message = isObject(choice["message"]) ? choice["message"] : { role: "assistant", content: null }
  choice["message"] = message
  for (const field of ["content", "reasoning", "reasoning_content", "refusal"]) {
    if (typeof delta[field] === "string") message[field] = `${textOr(message[field], "")}${delta[field]}`
  }
  const pieces: ToolCallDelta[] = []
  for (const call of Array.isArray(delta["tool_calls"]) ? delta["tool_calls"] : []) {
    if (!isObject(call)) continue
    const index = numberOr(call["index"], 0)
    const calls = Array.isArray(message["tool_calls"])
      ? message["tool_calls"]
      : (message["tool_calls"] = [] as unknown[])
    const list = calls as JsonObject[]
    const known = (list[index] ??= { id: "", type: "function", function: { name: "", arguments: "" } })
    const said = isObject(call["function"]) ? call["function"] : {}
    const kept = known["function"] as JsonObject
    if (typeof call["id"] === "string" && call["id"] !== "") known["id"] = call["id"]
    if (typeof said["name"] === "string") kept["name"] = `${textOr(kept["name"], "")}${said["name"]}`
    if (typeof said["arguments"] === "string")
      kept["arguments"] = `${textOr(kept["arguments"], "")}${said["arguments"]}`
    pieces.push({
      index,
      ...(typeof call["id"] === "string" ? { id: call["id"] } : {}),
      ...(typeof said["name"] === "string" ? { name: said["name"] } : {}),
      ...(typeof said["arguments"] === "string" ? { arguments: said["arguments"] } : {}),
    })
  }
  return pieces
}

function toDelta(
  choice: number,
  piece: JsonObject,
  delta: JsonObject | undefined,
  toolCalls: readonly ToolCallDelta[],
): CompletionDelta {
  const text = delta === undefined ? piece["text"] : delta["content"]
  const reasoning = delta?.["reasoning"] ?? delta?.["reasoning_content"]
  const listed = isObject(piece["logprobs"]) ? piece["logprobs"] : {}
  const logprobs = pieceLogprobs(listed)
  const tokenIds = Array.isArray(piece["token_ids"]) ? (piece["token_ids"] as number[]) : spelledIds(listed["tokens"])
  const reason = piece["finish_reason"]
  return {
    choice,
    ...(typeof text === "string" && text !== "" ? { text } : {}),
    ...(typeof reasoning === "string" && reasoning !== "" ? { reasoning } : {}),
    ...(tokenIds === undefined ? {} : { tokenIds }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
    ...(typeof reason === "string" ? { finishReason: readFinishReason(reason) } : {}),
  }
}

/** Ids where servers spell them in place of tokens' texts. */
function spelledIds(tokens: unknown): number[] | undefined {
  if (!Array.isArray(tokens)) return undefined
  const ids = tokens.map(spelledId).filter((id) => id !== undefined)
  return ids.length === tokens.length ? ids : undefined
}

function pieceLogprobs(logprobs: JsonObject): number[] | undefined {
  const { content, token_logprobs: flat } = logprobs
  if (Array.isArray(flat)) return flat.filter((value) => typeof value === "number")
  if (!Array.isArray(content)) return undefined
  return content.flatMap((entry) => (isObject(entry) && typeof entry["logprob"] === "number" ? [entry["logprob"]] : []))
}
