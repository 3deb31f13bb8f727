// Plays recorded answers of real servers over HTTP to their adapters, and compares what those make of them.
import type { PromptLogprobs } from "../../packages/atropos/src/inference/inference-server.ts"
import type { SingleServer } from "../../packages/atropos/src/inference/servers/open-server.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import type { Suite, Verdict } from "../runner/suite.ts"
import { drive, isCompletion, isKnownServer, openFor } from "./inference/drive.ts"
import { expectedAnswer, expectedError, type Expected, type ExpectedChoice } from "./inference/expected.ts"
import { startReplayServer, type ReplayServer } from "./inference/replay-server.ts"
import { asArray, asObject, readTranscript, type Json, type Transcript } from "./inference/transcript.ts"

export const suite: Suite = {
  name: "inference",
  vectors: "inference",
  accepts: (file) => file.endsWith(".json"),
  async run(files, report) {
    const replay = await startReplayServer()
    try {
      for (const file of files) {
        const transcript = readTranscript(file)
        if (transcript === undefined) report(file, { verdict: "skipped", reason: "not a recorded exchange" })
        else if (!isKnownServer(transcript)) {
          report(transcript.name, { verdict: "skipped", reason: `there is no adapter for ${transcript.server}` })
        } else report(transcript.name, await judge(transcript, replay))
      }
    } finally {
      await replay.close()
    }
  },
}

async function judge(transcript: Transcript, replay: ReplayServer): Promise<Verdict> {
  replay.play(transcript)
  const server = openFor(transcript, replay.url)
  try {
    const difference = await findDifference(transcript, server, replay)
    return difference === undefined ? { verdict: "passed" } : { verdict: "failed", difference }
  } catch (error) {
    return { verdict: "failed", difference: `the adapter threw ${String(error)}` }
  } finally {
    await server.close()
  }
}

async function findDifference(
  transcript: Transcript,
  server: SingleServer,
  replay: ReplayServer,
): Promise<string | undefined> {
  const failure = expectedError(transcript)
  if (failure !== undefined) return differenceInError(await errorOf(transcript, server), failure)
  if (transcript.response.status >= 300) return differenceInRedirect(await errorOf(transcript, server), transcript)
  if (!isCompletion(transcript)) return differenceInRoute(transcript, server)

  const expected = expectedAnswer(transcript)
  const body = transcript.request.body ?? {}
  const scored = promptsScored(transcript, body)
  if (scored !== undefined) {
    const { prompt, topK, said } = scored
    const difference = differenceInScores(await server.promptLogprobs(prompt, topK), said)
    // Scored only, or without logprobs of the sampled token, which an adapter asks for in any case.
    const sampled = expected.choices.every((choice) => choice.logprobs !== undefined || choice.ids === undefined)
    if (difference !== undefined || body["max_tokens"] === 0 || !sampled) return difference
    replay.asked.length = 0
  }
  const { answer, deltas } = await drive(server, transcript, expected)
  return (
    differenceInAnswer(answer, expected) ??
    (deltas === undefined ? undefined : differenceInDeltas(deltas, expected)) ??
    differenceInRequest(replay.asked.at(-1), transcript)
  )
}

async function errorOf(transcript: Transcript, server: SingleServer): Promise<unknown> {
  const streamed = transcript.response.sse !== undefined
  try {
    // On a route that is off the adapter takes another and says nothing.
    const off = transcript.request.path.startsWith("/inference/") && [403, 404].includes(transcript.response.status)
    if (isCompletion(transcript) && !off) {
      // Which words brought the error about does not matter to whom it is told.
      const options = streamed ? { onDelta: () => undefined } : {}
      const chat = /chat|responses|messages/.test(transcript.request.path)
      if (chat) await server.chat({ messages: [{ role: "user", content: "Hi" }] }, options)
      else if (transcript.server === "sglang" && transcript.request.path === "/v1/completions") {
        await server.complete("Hi", { maxTokens: 1 }, options)
      } else await server.completeTokens([1, 2, 3], { maxTokens: 1 }, options)
    } else {
      await server.call(transcript.request.method, transcript.request.path, transcript.request.body)
    }
    return undefined
  } catch (error) {
    return error
  }
}

function differenceInError(error: unknown, expected: { message: string; retryable: boolean }): string | undefined {
  if (!isAtroposError(error)) return `expected an error of ours, received ${String(error)}`
  if (!error.message.includes(expected.message)) {
    return `the message ${JSON.stringify(error.message)} lacks the server's ${JSON.stringify(expected.message)}`
  }
  if (error.retryable !== expected.retryable) return `retryable is ${error.retryable}, not ${expected.retryable}`
  return undefined
}

function differenceInRedirect(error: unknown, transcript: Transcript): string | undefined {
  const location = transcript.response.headers["location"] ?? ""
  return isAtroposError(error) && error.message.includes(location)
    ? undefined
    : `expected an error that names ${location}, received ${String(error)}`
}

/** Routes other than completions: what the server says comes through whole, and what it means is understood. */
async function differenceInRoute(transcript: Transcript, server: SingleServer): Promise<string | undefined> {
  const { method, path, body } = transcript.request
  const said = await server.call(method, path, body)
  const recorded = transcript.response.body ?? transcript.response.text ?? null
  const wanted = recorded === "" ? null : recorded
  if (JSON.stringify(said) !== JSON.stringify(wanted)) return `${path} came through as ${JSON.stringify(said)}`
  const version = asObject(transcript.response.body)["weight_version"]
  if (path === "/weight_info" || path === "/model_info") {
    const number = await server.policyVersion()
    const digits = Number(/\d+$/.exec(String(version))?.[0] ?? 0)
    if (number !== digits) return `policyVersion is ${number}, not ${digits} of ${JSON.stringify(version)}`
  }
  if (path === "/is_paused") {
    const paused = await server.isPaused?.()
    if (paused !== asObject(transcript.response.body)["is_paused"]) return `isPaused is ${paused}`
  }
  const healthRoute = { vllm: "/health", sglang: "/model_info", trl: "/health/" } as Record<string, string>
  if (path === healthRoute[transcript.server]) await server.health()
  if (path === "/get_sequence_logprobs/") {
    const { sequences, top_logprobs: topK } = asObject(body)
    // Recorded for the last two tokens of nine; asked for as such.
    const prompt = (asArray(sequences)[0] as number[]).slice(6)
    const scores = await server.promptLogprobs(prompt, Number(topK))
    return differenceInScores(scores, trlScores(asObject(transcript.response.body), prompt))
  }
  return undefined
}

/** The prompt's scores in a recorded answer, if it has any, by position: own logprob, then the best ids. */
interface Scores {
  own: (number | null)[]
  topIds: number[][]
}

function promptsScored(
  transcript: Transcript,
  body: Json,
): { prompt: number[]; topK: number; said: Scores } | undefined {
  const answer = asObject(transcript.response.body)
  const prompt = (body["prompt"] ?? body["input_ids"] ?? body["token_ids"]) as number[]
  if (!Array.isArray(prompt) || transcript.request.path.includes("chat")) return undefined
  if (transcript.server === "vllm") {
    const positions = answer["prompt_logprobs"] ?? asObject(asArray(answer["choices"])[0])["prompt_logprobs"]
    if (!Array.isArray(positions)) return undefined
    const topK = Number(
      body["prompt_logprobs"] ?? asObject(body["sampling_params"])["prompt_logprobs"] ?? body["logprobs"],
    )
    const ranked = positions.map((position) =>
      Object.entries(asObject(position))
        .map(([id, said]) => ({ id: Number(id), ...(said as { logprob: number; rank: number }) }))
        .toSorted((a, b) => a.rank - b.rank),
    )
    const own = ranked.map((entries, index) => entries.find(({ id }) => id === prompt[index])?.logprob ?? null)
    const topIds = ranked.map((entries) => entries.filter(({ rank }) => rank <= topK).map(({ id }) => id))
    return { prompt, topK, said: { own, topIds } }
  }
  const meta = asObject(answer["meta_info"])
  const whole = asArray(meta["input_token_logprobs"])
  if (transcript.server !== "sglang" || whole.length !== prompt.length || !Array.isArray(meta["input_top_logprobs"])) {
    return undefined
  }
  const topIds = meta["input_top_logprobs"].map((triples) =>
    asArray(triples).map((triple) => Number(asArray(triple)[1])),
  )
  const own = whole.map((triple) => asArray(triple)[0] as number | null)
  return { prompt, topK: Number(body["top_logprobs_num"]), said: { own, topIds } }
}

function trlScores(body: Json, prompt: readonly number[]): Scores {
  const ids = asArray(asArray(body["logprob_token_ids"])[0]) as number[][]
  const values = asArray(asArray(body["logprobs"])[0]) as number[][]
  const own = prompt.slice(1).map((id, index) => values[index]?.[ids[index]?.indexOf(id) ?? -1] ?? null)
  return { own: [null, ...own], topIds: [[], ...ids.map((position) => position.slice(0, 2))] }
}

function differenceInScores(scores: PromptLogprobs, said: Scores): string | undefined {
  return same("prompt logprobs", scores.logprobs, said.own) ?? same("top ids", scores.top.tokenIds, said.topIds)
}

const finishNames: Record<string, string> = { function_call: "tool_calls", null: "stop" }

function differenceInAnswer(answer: Expected, expected: Expected): string | undefined {
  if (answer.choices.length !== expected.choices.length) {
    return `${answer.choices.length} choices, not ${expected.choices.length}`
  }
  for (const [index, wanted] of expected.choices.entries()) {
    const difference = differenceInChoice(answer.choices[index], wanted)
    if (difference !== undefined) return `choice ${index}: ${difference}`
  }
  const usage = Object.entries(expected.usage).filter(([, value]) => !Number.isNaN(value))
  for (const [name, value] of usage) {
    const own = answer.usage[name as keyof Expected["usage"]]
    if (own !== value) return `usage.${name} is ${own}, not ${value}`
  }
  return answer.promptIds === undefined ? undefined : same("prompt ids", answer.promptIds, expected.promptIds)
}

function differenceInChoice(choice: ExpectedChoice | undefined, wanted: ExpectedChoice): string | undefined {
  const finish = finishNames[wanted.finish] ?? wanted.finish
  return (
    (wanted.ids === undefined ? undefined : same("ids", choice?.ids, wanted.ids)) ??
    (wanted.logprobs === undefined ? undefined : same("logprobs", choice?.logprobs, wanted.logprobs)) ??
    (choice?.finish === finish ? undefined : `finish reason is ${choice?.finish}, not ${finish}`) ??
    (wanted.versions === undefined ? undefined : same("versions", choice?.versions, wanted.versions))
  )
}

function differenceInDeltas(deltas: readonly ExpectedChoice[], expected: Expected): string | undefined {
  for (const [index, wanted] of expected.choices.entries()) {
    const { versions: _, ...pieces } = wanted
    const difference = differenceInChoice(deltas[index], pieces)
    if (difference !== undefined) return `pieces of choice ${index}: ${difference}`
  }
  return undefined
}

/** The adapter asked at least for what the recorded client asked for. */
function differenceInRequest(asked: Json | undefined, transcript: Transcript): string | undefined {
  if (asked === undefined) return "the adapter did not ask the recorded route"
  return missingField(asked, transcript.request.body ?? {}, transcript)
}

/** Of a text prompt any will do; the rest are other spellings of off. */
const anyValue = new Set(["prompt", "text", "prompts", "token_ids", "input_ids", "input", "return_tokens_as_token_ids"])
const impliedFields = new Set(["return_logprob", "logprobs", "return_token_ids", "output_mode"])

function missingField(asked: Json, wanted: Json, transcript: Transcript): string | undefined {
  for (const [name, value] of Object.entries(wanted)) {
    if (anyValue.has(name) || impliedFields.has(name)) continue
    const own = asked[name]
    const nested = name === "sampling_params" || name === "generation_kwargs"
    const difference = nested
      ? missingField(asObject(own), asObject(value), transcript)
      : JSON.stringify(own) === JSON.stringify(value) || isSameOff(name, own, value)
        ? undefined
        : `${name} was sent as ${JSON.stringify(own)}, not ${JSON.stringify(value)}`
    if (difference !== undefined) return difference
  }
  return undefined
}

function isSameOff(name: string, own: unknown, value: unknown): boolean {
  if (name === "top_k") return Number(own) <= 0 && Number(value) <= 0
  if (name === "stop") return JSON.stringify(own) === JSON.stringify([value])
  if (name === "stream") return value === true && own === undefined
  return false
}

function same(what: string, own: unknown, wanted: unknown): string | undefined {
  const [left, right] = [JSON.stringify(own), JSON.stringify(wanted)]
  return left === right ? undefined : `${what} are ${shorten(left)}, not ${shorten(right)}`
}

function shorten(text: string | undefined): string {
  return text === undefined ? "missing" : text.length > 120 ? `${text.slice(0, 120)}…` : text
}
