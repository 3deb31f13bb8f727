// What stands in a recorded answer, read without the adapters' help.
import { asArray, asObject, readEvents, type Json, type Transcript } from "./transcript.ts"

export interface ExpectedChoice {
  ids?: number[]
  logprobs?: number[]
  finish: string
  versions?: { version: string; start: number; end: number }[]
}

export interface Expected {
  choices: ExpectedChoice[]
  usage: { prompt?: number; completion?: number; cached?: number }
  promptIds?: number[]
}

/** The server's own words of a failure, or undefined where the answer is a good one. */
export function expectedError(transcript: Transcript): { message: string; retryable: boolean } | undefined {
  const { status, body, text, sse } = transcript.response
  const ended = [body].flat().map((answer) => asObject(asObject(asObject(answer)["meta_info"])["finish_reason"]))
  const refused = ended.find((reason) => Number(reason["status_code"]) >= 400)
  // SGLang's full queue and shutdown: an aborted answer with a status.
  if (refused !== undefined) {
    return { message: String(refused["message"]), retryable: isRetryable(Number(refused["status_code"])) }
  }
  const events = readEvents(sse)
  const failed = status >= 400 ? asObject(body) : [asObject(body), ...events].find((entry) => hasError(entry))
  if (failed === undefined) return undefined
  const inner = asObject(failed["error"])
  const detail = failed["detail"]
  const said =
    inner["message"] ??
    failed["error"] ??
    failed["message"] ??
    (Array.isArray(detail) ? asObject(detail[0])["msg"] : detail) ??
    text
  const code = inner["code"] ?? status
  const number = status >= 400 ? status : typeof code === "number" ? code : 500
  const quota = inner["code"] === "insufficient_quota"
  const retryable = inner["retryable"] ?? (!quota && isRetryable(number))
  const message = typeof said === "string" ? said : (JSON.stringify(said) ?? "")
  return { message: message.split(/\n\s*File "/)[0]?.trim() ?? "", retryable: retryable === true }
}

function isRetryable(status: number): boolean {
  return status >= 500 || [408, 409, 425, 429].includes(status)
}

function hasError(body: Json): boolean {
  return (body["error"] !== undefined && body["error"] !== null) || body["object"] === "error"
}

export function expectedAnswer(transcript: Transcript): Expected {
  const { body, sse } = transcript.response
  const path = transcript.request.path.replace("/api/", "/")
  const events = readEvents(sse)
  if (path.endsWith("/responses")) return fromResponses(sse === undefined ? asObject(body) : lastResponse(events))
  if (path.endsWith("/messages")) return fromMessages(sse === undefined ? asObject(body) : messageOf(events))
  if (transcript.server === "sglang" && path === "/generate") {
    return fromGenerate(sse === undefined ? (Array.isArray(body) ? body : [body]) : wholePerIndex(events))
  }
  if (transcript.server === "trl") return fromTrl(asObject(body), transcript.request.body ?? {})
  if (transcript.server === "atropos-vllm") return fromAtropos(asObject(body))
  return sse === undefined ? fromOpenAi(asObject(body)) : fromChunks(events)
}

function fromOpenAi(body: Json): Expected {
  const choices = asArray(body["choices"]).map(asObject)
  const prompt = body["prompt_token_ids"] ?? choices[0]?.["prompt_token_ids"]
  const spread = asObject(body["metadata"])["weight_versions"]
  return {
    choices: choices.map((choice, index) => {
      const ids = choice["token_ids"] ?? choice["response_token_ids"]
      const versions = choice["weight_versions"] ?? (index === 0 ? spread : undefined)
      const logprobs = openAiLogprobs(asObject(choice["logprobs"]))
      const tokens = asArray(asObject(choice["logprobs"])["tokens"])
      const spelled = tokens.length > 0 && String(tokens[0]).startsWith("token_id:")
      return {
        finish: String(choice["finish_reason"]),
        ...(Array.isArray(ids) ? { ids: ids as number[] } : {}),
        ...(spelled ? { ids: tokens.map((token) => Number(String(token).slice("token_id:".length))) } : {}),
        ...(logprobs === undefined ? {} : { logprobs }),
        ...(Array.isArray(versions) ? { versions } : {}),
      }
    }),
    usage: openAiUsage(asObject(body["usage"])),
    ...(Array.isArray(prompt) ? { promptIds: prompt as number[] } : {}),
  }
}

function openAiLogprobs(logprobs: Json): number[] | undefined {
  const flat = logprobs["token_logprobs"]
  if (Array.isArray(flat)) return flat as number[]
  const content = logprobs["content"]
  return Array.isArray(content) ? content.map((entry) => Number(asObject(entry)["logprob"])) : undefined
}

function openAiUsage(usage: Json): Expected["usage"] {
  const cached = asObject(usage["prompt_tokens_details"])["cached_tokens"]
  return {
    ...(typeof usage["prompt_tokens"] === "number" ? { prompt: usage["prompt_tokens"] } : {}),
    ...(typeof usage["completion_tokens"] === "number" ? { completion: usage["completion_tokens"] } : {}),
    ...(typeof cached === "number" ? { cached } : {}),
  }
}

function fromChunks(events: readonly Json[]): Expected {
  const whole = new Map<number, ExpectedChoice>()
  let usage: Expected["usage"] = {}
  let promptIds: number[] | undefined
  for (const event of events) {
    if (event["usage"] !== undefined && event["usage"] !== null) usage = openAiUsage(asObject(event["usage"]))
    for (const choice of asArray(event["choices"]).map(asObject)) {
      const index = Number(choice["index"] ?? 0)
      const known = whole.get(index) ?? { finish: "null" }
      whole.set(index, known)
      if (Array.isArray(choice["token_ids"])) known.ids = [...(known.ids ?? []), ...(choice["token_ids"] as number[])]
      const logprobs = openAiLogprobs(asObject(choice["logprobs"]))
      if (logprobs !== undefined) known.logprobs = [...(known.logprobs ?? []), ...logprobs]
      if (Array.isArray(choice["weight_versions"])) known.versions = choice["weight_versions"]
      if (typeof choice["finish_reason"] === "string") known.finish = choice["finish_reason"]
      const ids = choice["prompt_token_ids"] ?? event["prompt_token_ids"]
      if (Array.isArray(ids)) promptIds = ids as number[]
    }
    if (Array.isArray(event["prompt_token_ids"])) promptIds = event["prompt_token_ids"] as number[]
  }
  const choices = [...whole].toSorted(([a], [b]) => a - b).map(([, choice]) => choice)
  return { choices, usage, ...(promptIds === undefined ? {} : { promptIds }) }
}

/** Chunks repeat everything, so the last of each index is the whole; or, by their counts, only add to it. */
function wholePerIndex(events: readonly Json[]): unknown[] {
  const whole = new Map<number, Json>()
  for (const event of events) {
    const index = Number(event["index"] ?? 0)
    const meta = asObject(event["meta_info"])
    const known = whole.get(index)
    const ids = asArray(event["output_ids"])
    const adds = known !== undefined && ids.length !== meta["completion_tokens"]
    const before = asObject(known?.["meta_info"])["output_token_logprobs"]
    const logprobs = [...asArray(before), ...asArray(meta["output_token_logprobs"])]
    whole.set(
      index,
      adds
        ? {
            output_ids: [...asArray(known["output_ids"]), ...ids],
            meta_info: { ...meta, output_token_logprobs: logprobs },
          }
        : event,
    )
  }
  return [...whole].toSorted(([a], [b]) => a - b).map(([, event]) => event)
}

function fromGenerate(answers: readonly unknown[]): Expected {
  const metas = answers.map((answer) => asObject(asObject(answer)["meta_info"]))
  return {
    choices: answers.map((answer, index) => {
      const meta = metas[index] ?? {}
      const triples = meta["output_token_logprobs"]
      return {
        ids: asArray(asObject(answer)["output_ids"]) as number[],
        finish: String(asObject(meta["finish_reason"])["type"]),
        ...(Array.isArray(triples) ? { logprobs: triples.map((triple) => Number(asArray(triple)[0])) } : {}),
        ...(Array.isArray(meta["weight_versions"]) ? { versions: meta["weight_versions"] } : {}),
      }
    }),
    usage: {
      prompt: Number(metas[0]?.["prompt_tokens"]),
      completion: metas.reduce((sum, meta) => sum + Number(meta["completion_tokens"]), 0),
      cached: Number(metas[0]?.["cached_tokens"]),
    },
  }
}

function fromTrl(body: Json, request: Json): Expected {
  const limit = Number(request["max_tokens"] ?? 16)
  return {
    choices: asArray(body["completion_ids"]).map((ids, index) => {
      const own = ids as number[]
      const listed = asArray(asArray(body["logprob_token_ids"])[index]) as number[][]
      const values = asArray(asArray(body["logprobs"])[index]) as (number[] | number)[]
      return {
        ids: own,
        logprobs: own.map((id, position) => {
          const entries = values[position]
          // Older servers have one number there.
          if (typeof entries === "number") return entries
          return entries?.[listed[position]?.indexOf(id) ?? -1] ?? entries?.[0] ?? Number.NaN
        }),
        finish: own.at(-1) === endOfTrlModel || own.length < limit ? "stop" : "length",
      }
    }),
    usage: {
      prompt: asArray(body["prompt_ids"]).reduce<number>((sum, ids) => sum + asArray(ids).length, 0),
      completion: asArray(body["completion_ids"]).reduce<number>((sum, ids) => sum + asArray(ids).length, 0),
    },
    promptIds: asArray(asArray(body["prompt_ids"])[0]) as number[],
  }
}

/** `<|im_end|>` of the recorded model. */
export const endOfTrlModel = 151_645

function fromAtropos(body: Json): Expected {
  const reasons = asArray(body["finish_reasons"])
  const samples = body["logprobs"]
  return {
    choices: reasons.map((finish, index) => {
      if (!Array.isArray(samples)) return { finish: String(finish) }
      const told = asArray(asArray(body["token_ids"])[index])
      const entries = asArray(samples[index]).map((position, at) => {
        const listed = Object.entries(asObject(asArray(position)[0]))
        return listed.find(([id]) => Number(id) === told[at]) ?? listed[0] ?? []
      })
      return {
        finish: String(finish),
        ids: entries.map(([id]) => Number(id)),
        logprobs: entries.map(([, logprob]) => Number(logprob)),
      }
    }),
    usage: {},
  }
}

function lastResponse(events: readonly Json[]): Json {
  return asObject(events.findLast((event) => event["response"] !== undefined)?.["response"])
}

function fromResponses(body: Json): Expected {
  const texts = asArray(body["output"])
    .flatMap((item) => asArray(asObject(item)["content"]))
    .map(asObject)
  const logprobs = texts.flatMap((text) => asArray(text["logprobs"]).map((entry) => Number(asObject(entry)["logprob"])))
  const listed = texts.some((text) => Array.isArray(text["logprobs"]))
  const usage = asObject(body["usage"])
  const incomplete = asObject(body["incomplete_details"])["reason"]
  return {
    choices: [{ finish: incomplete === undefined ? "stop" : "length", ...(listed ? { logprobs } : {}) }],
    usage: { prompt: Number(usage["input_tokens"]), completion: Number(usage["output_tokens"]) },
  }
}

/** The message that a stream of Anthropic's events amounts to, as far as it is compared. */
function messageOf(events: readonly Json[]): Json {
  const start = asObject(events.find((event) => event["type"] === "message_start")?.["message"])
  const end = events.findLast((event) => event["type"] === "message_delta") ?? {}
  return {
    stop_reason: asObject(end["delta"])["stop_reason"],
    usage: { ...asObject(start["usage"]), ...asObject(end["usage"]) },
  }
}

function fromMessages(body: Json): Expected {
  const usage = asObject(body["usage"])
  return {
    choices: [{ finish: body["stop_reason"] === "max_tokens" ? "length" : "stop" }],
    usage: { prompt: Number(usage["input_tokens"]), completion: Number(usage["output_tokens"]) },
  }
}
