import { afterEach, describe, expect, test, vi } from "vitest"

import { createModelStub, type ModelStub, type ModelStubOptions } from "./model-stub.ts"
import { StubModel, seededRandom, type StubSampling } from "./stub-model.ts"
import { createStubTokenizer } from "./tokenizer/stub-tokenizer.ts"

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource.close()
})

async function start(options: ModelStubOptions = {}): Promise<ModelStub> {
  const stub = await createModelStub(options)
  opened.push(stub)
  return stub
}

interface Choice {
  text: string
  token_ids: number[]
  finish_reason: string
  weight_versions: unknown
}

async function post(stub: ModelStub, path: string, body: unknown = {}): Promise<{ status: number; body: unknown }> {
  const response = await fetch(stub.url + path, { method: "POST", body: JSON.stringify(body) })
  const text = await response.text()
  return { status: response.status, body: text === "" ? undefined : JSON.parse(text) }
}

async function complete(stub: ModelStub, body: Record<string, unknown> = {}): Promise<Choice> {
  const wanted = { prompt: [1, 50], return_token_ids: true, return_weight_versions: true, ...body }
  const answer = await post(stub, "/v1/completions", wanted)
  return (answer.body as { choices: [Choice] }).choices[0]
}

describe("the model", () => {
  const tokenizer = createStubTokenizer()
  const model = new StubModel(tokenizer, { seed: 0, meanTokens: 20 })
  const plain: StubSampling = {
    temperature: 1,
    topP: 1,
    topK: 0,
    minP: 0,
    minTokens: 0,
    ignoreEos: false,
    logitBias: new Map(),
    seed: undefined,
  }
  const everyState = Array.from({ length: 50 }, (_, index) => model.stateAfter([index, 2 * index]))

  test("has one distribution a context, which sums to one", () => {
    for (const state of everyState) {
      let total = 0
      for (let id = 0; id < tokenizer.vocabularySize; id++) total += Math.exp(model.score(state, id, 0).logprob)
      expect(total).toBeCloseTo(1, 9)
    }
  })

  test("reports the same logprob in every mode when it samples plainly", () => {
    for (const state of everyState) {
      const all = (["raw", "temperature", "processed"] as const).map((mode) =>
        model.next(state, 0, plain, seededRandom(5), mode, 0),
      )
      expect(new Set(all.map(({ logprob }) => logprob.toFixed(9))).size).toBe(1)
    }
  })

  test("ends no answer before its own least length", () => {
    const longer = new StubModel(tokenizer, { seed: 0, meanTokens: 2, minTokens: 5 })
    const ids = (position: number): number[] =>
      everyState.map((state, index) => longer.next(state, position, plain, seededRandom(index), "raw", 0).id)
    expect(ids(4)).not.toContain(longer.endId)
    expect(ids(5)).toContain(longer.endId)
  })

  test("samples each token as often as its logprob says", () => {
    const state = everyState[7]!
    const random = seededRandom(1)
    const counts = new Map<number, number>()
    const draws = 20_000
    for (let i = 0; i < draws; i++) {
      const { id } = model.next(state, 0, { ...plain, temperature: 0.7 }, random, "temperature", 0)
      counts.set(id, (counts.get(id) ?? 0) + 1)
    }
    const { top } = model.next(state, 0, { ...plain, temperature: 0.7 }, random, "temperature", 5)
    for (const { id, logprob } of top) expect((counts.get(id) ?? 0) / draws).toBeCloseTo(Math.exp(logprob), 1)
  })

  test("gives raw logprobs before, processed ones after what cuts the distribution", () => {
    const state = everyState[3]!
    const cut = { ...plain, topK: 2 }
    const raw = model.next(state, 0, cut, seededRandom(2), "raw", 2)
    const processed = model.next(state, 0, cut, seededRandom(2), "processed", 2)
    expect(processed.id).toBe(raw.id)
    expect(processed.top.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 9)
    expect(raw.logprob).toBe(model.score(state, raw.id, 0).logprob)
    expect(processed.logprob).toBeGreaterThan(raw.logprob)
  })

  test("takes the likeliest at temperature 0 and what is forced by a bias", () => {
    const state = everyState[9]!
    const greedy = model.next(state, 0, { ...plain, temperature: 0 }, seededRandom(1), "raw", 1)
    expect(greedy.id).toBe(greedy.top[0]?.id)
    const biased = { ...plain, logitBias: new Map([[400, 100]]) }
    expect(model.next(state, 0, biased, seededRandom(1), "temperature", 0)).toMatchObject({ id: 400 })
    expect(model.next(state, 0, biased, seededRandom(1), "temperature", 0).logprob).toBeCloseTo(0, 6)
  })
})

describe("answers", () => {
  test("are those of the seed: two stubs give the same, two requests differ", async () => {
    const stubs = [await start({ seed: 4 }), await start({ seed: 4 }), await start({ seed: 5 })]
    const [a, b, c] = await Promise.all(stubs.map((stub) => complete(stub, { max_tokens: 30 })))
    expect(a!.token_ids).toEqual(b!.token_ids)
    expect(a!.token_ids).not.toEqual(c!.token_ids)
    expect((await complete(stubs[0]!, { max_tokens: 30 })).token_ids).not.toEqual(a!.token_ids)
    const seeded = await complete(stubs[0]!, { max_tokens: 30, seed: 3 })
    expect((await complete(stubs[0]!, { max_tokens: 30, seed: 3 })).token_ids).toEqual(seeded.token_ids)
  })

  test("are what a script or a function says, token by token", async () => {
    const stub = await start({ answer: ({ promptText }) => `You said ${promptText}` })
    stub.script("first", { tokenIds: [300, 301] })
    expect((await complete(stub)).text).toBe("first")
    expect(await complete(stub)).toMatchObject({ token_ids: [300, 301], finish_reason: "length" })
    const echoed = await complete(stub, { prompt: "hi" })
    expect(echoed).toMatchObject({ text: "You said hi", finish_reason: "stop" })
    expect(echoed.token_ids).toEqual([...stub.tokenizer.encode("You said hi"), stub.tokenizer.eosTokenId])
  })

  test("end before a stop string and keep its tokens", async () => {
    const stub = await start()
    stub.script("one two END three")
    const choice = await complete(stub, { stop: ["END"] })
    expect(choice).toMatchObject({ text: "one two ", finish_reason: "stop", stop_reason: "END" })
    expect(stub.tokenizer.decode(choice.token_ids)).toBe("one two END")
  })

  test.each(["vllm", "sglang"] as const)(
    "hold what could start a stop string back in a stream, or take it back: %s",
    async (dialect) => {
      const stub = await start({ dialect })
      stub.script("one EN two END three")
      const body =
        dialect === "vllm"
          ? { prompt: [1, 50], max_tokens: 50, stop: ["END"], stream: true }
          : { input_ids: [1, 50], sampling_params: { max_new_tokens: 50, stop: ["END"] }, stream: true }
      const response = await fetch(stub.url + (dialect === "vllm" ? "/v1/completions" : "/generate"), {
        method: "POST",
        body: JSON.stringify(body),
      })
      const events = (await response.text()).split("\n\n").filter((event) => event.startsWith("data: {"))
      const said = events.map((event) => JSON.parse(event.slice(6)) as { text: string; choices?: [{ text: string }?] })
      const texts = said.map(({ text, choices }) => choices?.[0]?.text ?? text)
      if (dialect === "vllm") expect(texts.join("")).toBe("one EN two ")
      else {
        expect(texts.at(-1)).toBe("one EN two ")
        expect(texts.at(-2)?.startsWith("one EN two E")).toBe(true)
      }
    },
  )

  test("end where the context ends", async () => {
    const stub = await start({ contextTokens: 10 })
    expect((await complete(stub, { max_tokens: 50, ignore_eos: true })).token_ids).toHaveLength(8)
    const long = await post(stub, "/v1/completions", { prompt: Array.from({ length: 11 }, () => 50) })
    expect(long).toMatchObject({ status: 400, body: { error: { code: 400 } } })
  })
})

describe("in the middle of an answer", () => {
  const slow = { millisecondsPerToken: 1 }

  test("weights may change", async () => {
    const stub = await start(slow)
    const answer = complete(stub, { max_tokens: 300, ignore_eos: true })
    await vi.waitFor(() => expect(stub.running).toBe(1), { interval: 1 })
    await post(stub, "/update_weight_version", { new_version: "step-1" })
    const { weight_versions: spans } = await answer
    const ends = spans as { version: string; start: number; end: number }[]
    expect(ends.at(-1)).toMatchObject({ version: "step-1", end: 300 })
    expect(ends[0]?.start).toBe(0)
    for (const [index, { start: from }] of ends.entries()) if (index > 0) expect(from).toBe(ends[index - 1]!.end)
  })

  test("a request may be aborted, and answers what there is", async () => {
    const stub = await start(slow)
    const answer = complete(stub, { max_tokens: 5000, ignore_eos: true, request_id: "r1" })
    const other = complete(stub, { max_tokens: 60, ignore_eos: true, request_id: "r2" })
    await vi.waitFor(() => expect(stub.running).toBe(2))
    expect((await post(stub, "/abort_requests", { request_ids: ["r1"] })).body).toMatchObject({ aborted: 1 })
    const { token_ids: ids, finish_reason: reason } = await answer
    expect(reason).toBe("abort")
    expect(ids.length).toBeLessThan(5000)
    expect(await other).toMatchObject({ finish_reason: "length" })
  })

  test("generation may be paused and go on with other weights", async () => {
    const stub = await start(slow)
    const answer = complete(stub, { max_tokens: 300, ignore_eos: true })
    await vi.waitFor(() => expect(stub.running).toBe(1), { interval: 1 })
    await post(stub, "/pause?mode=keep")
    const later = complete(stub, { max_tokens: 2, ignore_eos: true })
    stub.version = "step-9"
    expect(stub.running).toBeGreaterThan(0)
    await post(stub, "/resume")
    expect((await answer).weight_versions).toContainEqual(expect.objectContaining({ version: "step-9", end: 300 }))
    expect((await later).token_ids).toHaveLength(2)
  })

  test("a client may go away, which ends the work for it", async () => {
    const stub = await start(slow)
    const controller = new AbortController()
    const body = JSON.stringify({ prompt: [1, 50], max_tokens: 5000, ignore_eos: true })
    const request = fetch(`${stub.url}/v1/completions`, { method: "POST", body, signal: controller.signal })
    await vi.waitFor(() => expect(stub.running).toBe(1))
    controller.abort()
    await expect(request).rejects.toThrow()
    await vi.waitFor(() => expect(stub.running).toBe(0))
  })
})

describe("requests", () => {
  test("that are not right are refused like vLLM does", async () => {
    const stub = await start()
    const refused = async (body: unknown): Promise<unknown> => (await post(stub, "/v1/completions", body)).status
    expect(await refused({ prompt: [] })).toBe(400)
    expect(await refused({ prompt: [999_999] })).toBe(400)
    expect(await refused({ prompt: [5], n: 0 })).toBe(400)
    expect(await refused({ prompt: [5], temperature: -1 })).toBe(400)
    expect(await refused({ prompt: [5], max_tokens: "many" })).toBe(400)
    expect(await refused({ prompt: [5], max_tokens: 0 })).toBe(400)
    expect(await refused({ prompt: [5], logprobs: 21 })).toBe(400)
    expect((await fetch(`${stub.url}/v1/completions`)).status).toBe(405)
    expect((await fetch(`${stub.url}/v1/nothing`)).status).toBe(404)
    expect((await fetch(`${stub.url}/v1/completions`, { method: "POST", body: "{" })).status).toBe(400)
  })

  test("without the key are refused where vLLM asks for it", async () => {
    const stub = await start({ apiKey: "sekret" })
    expect((await post(stub, "/v1/completions", { prompt: [5] })).body).toEqual({ error: "Unauthorized" })
    expect((await post(stub, "/tokenize", { prompt: "Hi" })).status).toBe(200)
  })

  test("are remembered", async () => {
    const stub = await start()
    await complete(stub, { user: "me" })
    expect(stub.requests.at(-1)).toMatchObject({ method: "POST", path: "/v1/completions", body: { user: "me" } })
  })
})
