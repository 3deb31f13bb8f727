// Streamed answers over HTTP, in the words of each kind of server.
import { afterEach, describe, expect, test } from "vitest"

import { ServerPool } from "../pool/server-pool.ts"
import { openServer } from "../servers/open-server.ts"
import type { ServerType } from "../servers/server-config.ts"
import { createModelStub, type ModelStub, type ModelStubOptions } from "../stub/model-stub.ts"
import type { AnswerDelta, CallOptions, Session } from "./session.ts"

interface Kind {
  dialect: NonNullable<ModelStubOptions["dialect"]>
  type: ServerType
  scaleOut?: boolean
  /** Without it answers come whole. */
  streams: boolean
  /** Whether it tells token ids. @default true */
  exact?: boolean
}

const kinds: readonly Kind[] = [
  { dialect: "vllm", type: "vllm", streams: true },
  { dialect: "vllm", type: "vllm", streams: true, scaleOut: true },
  { dialect: "sglang", type: "sglang", streams: true },
  { dialect: "atropos-vllm", type: "vllm", streams: false },
  { dialect: "trl", type: "trl", streams: false },
  { dialect: "openai", type: "openai", streams: true, exact: false },
]
const streaming = kinds.filter(({ streams }) => streams)
const messages = [{ role: "user", content: "Say something." }]

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((one) => one.close()))
})

async function start(
  { dialect, type, scaleOut = false, exact = true }: Kind,
  options: ModelStubOptions = {},
): Promise<{ stub: ModelStub; openSession: () => Session }> {
  const stub = await createModelStub({ dialect, scaleOut, minTokens: 12, ...options })
  const { tokenizer } = stub
  const server = openServer(type, { baseUrl: stub.baseUrl, model: "m", tokenizer })
  const pool = new ServerPool([{ server }], { retry: { firstDelayMs: 1 }, healthChecks: false })
  opened.push(pool, stub)
  // What a server finds out about its routes is not what the tests count.
  if (exact) await pool.completeTokens(tokenizer.encode("a"), { maxTokens: 1 })
  return { stub, openSession: () => pool.session({ tokenizer, maxTokens: 40, exact, seedOf: () => 7 }) }
}

async function readAll(stream: AsyncIterable<AnswerDelta>): Promise<AnswerDelta[]> {
  const deltas: AnswerDelta[] = []
  for await (const delta of stream) deltas.push(delta)
  return deltas
}

function textOf(deltas: readonly AnswerDelta[]): string {
  return deltas.map((delta) => (delta.type === "text" ? delta.text : "")).join("")
}

function answersOf(stub: ModelStub): number {
  return stub.requests.filter(({ body }) => body["stream"] === true).length
}

const call = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>'
const tools = [{ type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } }]

describe.each(kinds)("with $dialect (scale out: $scaleOut)", (kind) => {
  test("a streamed answer is the whole one of the same seed, record and all", async () => {
    const { openSession } = await start(kind)
    const [whole, streamed] = [openSession(), openSession()]
    const answer = await whole.chat(messages)
    const deltas = await readAll(streamed.chatStream(messages))
    expect(deltas.at(-1)).toMatchObject({ type: "end", answer, finishReason: answer.finishReason })
    expect(textOf(deltas)).toBe(answer.message.content)
    expect(streamed.sequences()).toEqual(whole.sequences())
    if (kind.streams) expect(deltas.length).toBeGreaterThan(4)
    else expect(deltas.map(({ type }) => type)).toEqual(["text", "end"])
  })

  test("the next turn goes on from it, and a raw prompt is streamed too", async () => {
    const { openSession } = await start(kind)
    const session = openSession()
    const end = (await readAll(session.chatStream(messages))).at(-1)
    if (end?.type !== "end") throw new Error("no end")
    await readAll(session.chatStream([...messages, end.answer.message, ...messages]))
    expect(session.counts).toMatchObject({ calls: 2, extends: 1 })
    const raw = openSession()
    expect(textOf(await readAll(raw.completeStream("Once upon")))).toBe(
      (await openSession().complete("Once upon")).text,
    )
  })

  test("a call that the model wrote is a part of its own", async () => {
    const { stub, openSession } = await start(kind)
    stub.script(`Let me see.${call}`)
    const deltas = await readAll(openSession().chatStream(messages, { tools }))
    expect(textOf(deltas)).toBe("Let me see.")
    expect(deltas.filter(({ type }) => type === "tool-call")).toMatchObject([{ index: 0, name: "add" }])
    expect(deltas.at(-1)).toMatchObject({ type: "end", finishReason: "tool_calls" })
  })
})

describe.each(streaming)("a stream of $dialect (scale out: $scaleOut)", (kind) => {
  test.each([
    [{ kind: "cut", afterTokens: 3 } as const, { code: "inference-network" }],
    [
      { kind: "error-inside", afterTokens: 3, message: "broke off" } as const,
      { code: "inference-request", message: expect.stringMatching(/broke off/) },
    ],
    [{ kind: "abort", afterTokens: 3 } as const, { code: "inference-aborted" }],
  ])("with the fault %o fails as a whole, and the same call takes its place", async (fault, error) => {
    // Pieces that come at once with a cut are lost with it.
    const { stub, openSession } = await start(kind, { millisecondsPerToken: 3 })
    const session = openSession()
    stub.fail(fault)
    const deltas: AnswerDelta[] = []
    const reading = (async () => {
      for await (const delta of session.chatStream(messages)) deltas.push(delta)
    })()
    await expect(reading).rejects.toMatchObject(error)
    expect(textOf(deltas)).not.toBe("")
    expect(session.sequences()).toEqual([])
    // Pieces that were handed out cannot be taken back by a second try.
    expect(answersOf(stub)).toBe(1)
    const answer = await session.chat(messages)
    expect([answer.index, session.counts.calls]).toEqual([0, 1])
  })

  test("is tried again while nothing of it was handed out", async () => {
    const { stub, openSession } = await start(kind)
    stub.fail({ kind: "status", status: 503 })
    const deltas = await readAll(openSession().chatStream(messages))
    expect(deltas.at(-1)?.type).toBe("end")
    expect(answersOf(stub)).toBe(2)
  })

  test("that is left early ends the generation", async () => {
    const { stub, openSession } = await start(kind, { millisecondsPerToken: 5, minTokens: 30 })
    const session = openSession()
    for await (const delta of session.chatStream(messages)) if (delta.type === "text") break
    await expect.poll(() => stub.running).toBe(0)
    expect(session.sequences()).toEqual([])
    expect(session.counts.calls).toBe(0)
  })

  test("holds back what may become a stop string", async () => {
    const { stub, openSession } = await start(kind)
    const options: CallOptions = { stop: ["STOP"] }
    stub.script("one SO STOP two", "one SO STOP two")
    const answer = await openSession().chat(messages, options)
    const deltas = await readAll(openSession().chatStream(messages, options))
    expect(answer.message.content).toBe("one SO ")
    expect(textOf(deltas)).toBe("one SO ")
    expect(deltas.at(-1)).toMatchObject({ answer })
  })
})
