import { isObject, type JsonObject } from "../../transport/read.ts"
import { fitToContext, isNumber, readPrompts, readSampling, type StubHandler, type StubRoutes } from "./context.ts"
import { generate } from "./generate.ts"
import { scorePrompt } from "./logprob-shapes.ts"

/** The original's own vLLM server. */
export const atroposRoutes: StubRoutes = {
  "GET /health": (_, call) => call.send(200, ""),
  "GET /bridge/info": (context, call) => call.json(200, { model: context.model, version: context.engine.version }),
  "POST /generate": atroposGenerate,
}

/** Also called by the stub that speaks for all. */
export async function atroposGenerate(...[context, call]: Parameters<StubHandler>): Promise<void> {
  const { body } = call
  const given = isObject(body["prompt"]) ? body["prompt"]["prompt_token_ids"] : body["prompt"]
  const promptIds = readPrompts(context, given)[0] ?? []
  const request = fitToContext(context, { ...readSampling(body), promptIds, topLogprobs: 0 })
  const samples = await generate(context, call, [request], undefined, "atropos-vllm")
  const { model } = context.engine
  const answer: JsonObject = {
    text: samples.map(({ text }) => text),
    prompt: model.tokenizer.decode(promptIds),
    finish_reasons: samples.map(({ finishReason }) => finishReason),
  }
  if (isNumber(body["logprobs"])) {
    answer["logprobs"] = samples.map(({ tokens }) => tokens.map(({ id, logprob }) => [{ [id]: logprob }]))
    answer["prompt_token_ids"] = promptIds
    answer["token_ids"] = samples.map(({ tokens }) => tokens.map(({ id }) => id))
  }
  // The original never answers them, and its clients understand this form.
  if (isNumber(body["prompt_logprobs"])) {
    answer["prompt_logprobs"] = scorePrompt(context, promptIds, body["prompt_logprobs"]).map(({ top }, index) =>
      index === 0 ? null : Object.fromEntries(top.map(({ id, logprob }) => [id, logprob])),
    )
  }
  call.json(200, answer)
}
