import type { CompletionDelta } from "../inference-server.ts"
import { isObject, numberOr, textOr, type JsonObject } from "../transport/read.ts"
import { readFinishReason } from "./finish-reason.ts"

interface GrowingAnswer {
  text: string
  ids: unknown[]
  logprobs: unknown[]
  top: unknown[]
  meta: JsonObject
}

/**
 * Puts the chunks of a `/generate` stream together to the list that the same request without `stream` answers.
 * Chunks repeat everything so far, unless the server was started to send only what is new; the count of tokens
 * in each chunk tells which.
 */
export class SglangStream {
  readonly #answers = new Map<number, GrowingAnswer>()
  readonly #onDelta: (delta: CompletionDelta) => void

  constructor(onDelta: (delta: CompletionDelta) => void) {
    this.#onDelta = onDelta
  }

  add(chunk: unknown): void {
    if (!isObject(chunk) || !isObject(chunk["meta_info"])) return
    const meta = chunk["meta_info"]
    const index = numberOr(chunk["index"], 0)
    const answer = this.#answers.get(index) ?? { text: "", ids: [], logprobs: [], top: [], meta: {} }
    this.#answers.set(index, answer)
    const count = meta["completion_tokens"]
    const grow = (list: unknown[], said: unknown): unknown[] => {
      if (!Array.isArray(said)) return []
      const fresh = said.length === count ? said.slice(list.length) : said
      for (const entry of fresh) list.push(entry)
      return fresh
    }
    const text = textOr(chunk["text"], "")
    const cumulative = Array.isArray(chunk["output_ids"]) && chunk["output_ids"].length === count
    const piece = cumulative ? text.slice(answer.text.length) : text
    answer.text = cumulative ? text : answer.text + text
    const ids = grow(answer.ids, chunk["output_ids"])
    const logprobs = grow(answer.logprobs, meta["output_token_logprobs"])
    grow(answer.top, meta["output_top_logprobs"])
    answer.meta = meta
    const reason = meta["finish_reason"]
    this.#onDelta({
      choice: index,
      ...(piece === "" ? {} : { text: piece }),
      tokenIds: ids.filter((id) => typeof id === "number"),
      logprobs: logprobs.flatMap((entry) => (Array.isArray(entry) && typeof entry[0] === "number" ? [entry[0]] : [])),
      ...(isObject(reason) ? { finishReason: readFinishReason(reason["type"]) } : {}),
    })
  }

  get complete(): boolean {
    if (this.#answers.size === 0) return false
    for (const { meta } of this.#answers.values()) if (!isObject(meta["finish_reason"])) return false
    return true
  }

  answers(): JsonObject[] {
    return [...this.#answers]
      .toSorted(([a], [b]) => a - b)
      .map(([, { text, ids, logprobs, top, meta }]) => ({
        text,
        output_ids: ids,
        meta_info: { ...meta, output_token_logprobs: logprobs, output_top_logprobs: top },
      }))
  }
}
