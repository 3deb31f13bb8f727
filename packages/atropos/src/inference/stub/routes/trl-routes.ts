import { isObject, numberOr, type JsonObject } from "../../transport/read.ts"
import type { Sample, StubRequest } from "../generation.ts"
import {
  fitToContext,
  readPrompts,
  readSampling,
  renderChat,
  StubRefusal,
  type StubHandler,
  type StubRoutes,
} from "./context.ts"
import { generate } from "./generate.ts"
import { scorePrompt } from "./logprob-shapes.ts"

/** TRL's own server, up to 1.10: ids and logprobs, no text and no finish reasons. */
export const trlRoutes: StubRoutes = {
  "GET /health/": (_, call) => call.json(200, { status: "ok" }),
  "GET /get_world_size/": (_, call) => call.json(200, { world_size: 1 }),
  "POST /generate/": async (context, call) => {
    if (call.body["prompts"] === undefined) throw missing("prompts", call.body)
    await answer(context, call, readPrompts(context, call.body["prompts"]))
  },
  "POST /chat/": async (context, call) => {
    const { messages } = call.body
    if (!Array.isArray(messages)) throw missing("messages", call.body)
    await answer(
      context,
      call,
      messages.map((conversation) => renderChat(context, { ...call.body, messages: conversation })),
    )
  },
  "POST /get_sequence_logprobs/": (context, call) => {
    const { sequences, prompt_lengths: lengths } = call.body
    const starts = Array.isArray(lengths) ? lengths : []
    const top = numberOr(call.body["top_logprobs"], 1)
    const scored = readPrompts(context, sequences).map((ids, index) => {
      return scorePrompt(context, ids, top)
        .slice(numberOr(starts[index], 1))
        .map((token) => listed(token, top))
    })
    call.json(200, {
      logprobs: scored.map((positions) => positions.map((entries) => entries.map(({ logprob }) => logprob))),
      logprob_token_ids: scored.map((positions) => positions.map((entries) => entries.map(({ id }) => id))),
    })
  },
}

async function answer(...[context, call, prompts]: [...Parameters<StubHandler>, readonly number[][]]): Promise<void> {
  const { body } = call
  const further = isObject(body["generation_kwargs"]) ? body["generation_kwargs"] : {}
  const top = numberOr(body["logprobs"], 0)
  const wanted = readSampling({ ...body, ...further })
  const requests = prompts.map((promptIds): StubRequest =>
    fitToContext(context, { ...wanted, promptIds, topLogprobs: top }),
  )
  const samples = await generate(context, call, requests, undefined, "trl")
  call.json(200, { prompt_ids: prompts, ...completionLists(samples, top) })
}

function completionLists(samples: readonly Sample[], top: number): JsonObject {
  const entries = samples.map(({ tokens }) => tokens.map((token) => listed(token, top)))
  return {
    completion_ids: samples.map(({ tokens }) => tokens.map(({ id }) => id)),
    logprobs: entries.map((positions) => positions.map((list) => list.map(({ logprob }) => logprob))),
    logprob_token_ids: entries.map((positions) => positions.map((list) => list.map(({ id }) => id))),
  }
}

/** By probability; the token itself is added when it is not among the best. */
function listed(token: Sample["tokens"][number], top: number): { id: number; logprob: number }[] {
  const best = token.top.slice(0, top)
  return best.some(({ id }) => id === token.id) ? [...best] : [...best, token]
}

function missing(field: string, input: JsonObject): StubRefusal {
  return new FieldRefusal(field, input)
}

/** FastAPI's way of saying that a field is not there. */
export class FieldRefusal extends StubRefusal {
  readonly detail: JsonObject[]

  constructor(field: string, input: JsonObject) {
    super(422, "Field required", { param: field })
    this.detail = [{ type: "missing", loc: ["body", field], msg: "Field required", input }]
  }
}
