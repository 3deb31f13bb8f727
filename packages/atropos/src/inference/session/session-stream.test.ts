import * as fc from "fast-check"
import { describe, expect, test } from "vitest"

import { loadTokenizer } from "../../chat/tokenizers/load-tokenizer.ts"
import { toolCallFormats, writeToolCalls } from "../../chat/tool-calls/formats.ts"
import type { CompletionDelta, InferenceMessage } from "../inference-server.ts"
import { createAnswerParser } from "./answer-parser.ts"
import { openSession } from "./recorded-session.ts"
import type { AnswerDelta, Session } from "./session.ts"
import { openScriptedSession, type ScriptedSample } from "./session-fixture.ts"

const vectors = new URL("../../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const tokenizer = await loadTokenizer(`${vectors}mini`)
const end = tokenizer.tokenToId("<|end|>") ?? 0
const sampleOf = (text: string): ScriptedSample => ({ ids: [...tokenizer.encode(text), end] })
const parser = createAnswerParser()
const user = (content: string) => ({ role: "user", content })
const add = {
  type: "function" as const,
  function: { name: "add", parameters: { properties: { a: { type: "integer" } } } },
}

async function readAll(stream: AsyncIterable<AnswerDelta>): Promise<AnswerDelta[]> {
  const deltas: AnswerDelta[] = []
  for await (const delta of stream) deltas.push(delta)
  return deltas
}

/** The message that the parts make. */
function messageOf(deltas: readonly AnswerDelta[]): InferenceMessage {
  let content = ""
  let thought = ""
  const calls = []
  for (const delta of deltas) {
    if (delta.type === "text") content += delta.text
    else if (delta.type === "reasoning") thought += delta.text
    else if (delta.type === "tool-call")
      calls[delta.index] = {
        id: delta.id,
        type: "function",
        function: { name: delta.name, arguments: delta.arguments },
      }
  }
  return {
    role: "assistant",
    content,
    ...(thought === "" ? {} : { reasoning_content: thought }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

function endOf(deltas: readonly AnswerDelta[]): AnswerDelta & { type: "end" } {
  const last = deltas.at(-1)
  if (last?.type !== "end") throw new Error("the stream has no end")
  expect(deltas.filter(({ type }) => type === "end")).toHaveLength(1)
  return last
}

/** Ids in pieces that are cut anywhere. */
function piecesBy(
  cuts: readonly number[],
): (sample: ScriptedSample) => { tokenIds: readonly number[]; text?: string }[] {
  return ({ ids }) => {
    const places = [0, ...cuts.map((cut) => cut % (ids.length + 1)), ids.length].toSorted((a, b) => a - b)
    return places.slice(1).map((place, index) => ({ tokenIds: ids.slice(places[index], place) }))
  }
}

/** One call as it comes whole, and the same as a stream. */
async function bothWays(
  sample: ScriptedSample,
  { cuts, format, splitThoughts = false }: { cuts: readonly number[]; format?: string; splitThoughts?: boolean },
) {
  const open = () => {
    let id = 0
    const parser = createAnswerParser({
      ...(format === undefined ? {} : { toolCallFormat: format }),
      splitThoughts,
      newCallId: () => `call_${id++}`,
    })
    return openScriptedSession({ tokenizer, parser, pieces: piecesBy(cuts) }, () => [sample]).session
  }
  const [whole, streamed] = [open(), open()]
  const options = { tools: [add] }
  const answer = await whole.chat([user("q")], options)
  const deltas = await readAll(streamed.chatStream([user("q")], options))
  expect(endOf(deltas).answer).toEqual(answer)
  expect(messageOf(deltas)).toEqual({ ...answer.message, content: answer.message.content ?? "" })
  expect(streamed.sequences()).toEqual(whole.sequences())
  expect(streamed.counts).toEqual(whole.counts)
  return { deltas, answer }
}

describe("a streamed answer", () => {
  const words = fc.constantFrom(
    "Hello",
    " two words",
    "naïve",
    "日本 😀",
    "\n\n",
    "  ",
    "</think>",
    "<think>",
    "[/THINK]",
    "<",
    "{",
  )
  const text = fc.array(words, { maxLength: 6 }).map((list) => list.join(""))
  const written = fc.record({
    format: fc.constantFrom(...toolCallFormats),
    before: text,
    after: text,
    calls: fc.array(fc.integer({ min: 0, max: 99 }), { maxLength: 2 }),
    cut: fc.option(fc.nat(), { nil: undefined, freq: 3 }),
  })

  test("is the whole one in pieces, with the same record, in every format and however it is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        written,
        fc.array(fc.nat(), { maxLength: 12 }),
        fc.boolean(),
        async (script, cuts, splitThoughts) => {
          const { format, before, after, cut } = script
          const calls = script.calls.map((a) => ({ name: "add", arguments: `{"a": ${a}}` }))
          const markup = calls.length === 0 ? "" : writeToolCalls(format, calls, [add])
          const { ids } = sampleOf(before + markup + after)
          const sample: ScriptedSample =
            cut === undefined ? { ids } : { ids: ids.slice(0, cut % (ids.length + 1)), finishReason: "length" }
          await bothWays(sample, { cuts, format, splitThoughts })
        },
      ),
      { numRuns: 600 },
    )
  })

  // Of gpt-oss's text the content is no beginning; xLAM writes no text beside calls.
  test.each(toolCallFormats.filter((format) => format !== "harmony" && format !== "xlam"))(
    "hands out the text before a %s call as it comes, and the call when it is whole",
    async (format) => {
      const markup = writeToolCalls(format, [{ name: "add", arguments: '{"a": 1}' }], [add])
      const sample = sampleOf(`Let me see.${markup}`)
      const { deltas, answer } = await bothWays(sample, { cuts: [...sample.ids.keys()], format })
      expect(answer.finishReason).toBe("tool_calls")
      expect(deltas.findIndex(({ type }) => type === "tool-call")).toBeGreaterThan(2)
      expect(deltas[0]).toEqual({ type: "text", text: tokenizer.decode(sample.ids.slice(0, 1)) })
    },
  )

  test("gives a thought as one piece when it is over, and the answer after it as it comes", async () => {
    const sample = sampleOf("<think>\nhm, hm\n</think>\n\nYes, it is.")
    const { deltas } = await bothWays(sample, { cuts: [...sample.ids.keys()], splitThoughts: true })
    expect(deltas[0]).toEqual({ type: "reasoning", text: "hm, hm" })
    expect(deltas.filter(({ type }) => type === "text").length).toBeGreaterThan(1)
  })

  test("in gpt-oss's format comes at the end, where its content may not be the text as it stands", async () => {
    const start = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant"
    for (const text of [
      `${start}<|channel|>final<|message|>Yes`,
      `${start}<|channel|>commentary to=functions.add <|constrain|>json<|message|>{"a": 1}<|call|>`,
    ]) {
      const sample = sampleOf(text)
      await bothWays(sample, { cuts: [...sample.ids.keys()], format: "harmony" })
    }
  })

  test("goes on to the next turn as a whole one does", async () => {
    const { session, outcomes } = openScriptedSession({ tokenizer, parser }, () => [sampleOf("Hello")])
    const { answer, finishReason, usage } = endOf(await readAll(session.chatStream([user("Hi")])))
    expect({ finishReason, usage: usage.promptTokens > 0 }).toEqual({ finishReason: "stop", usage: true })
    await readAll(session.chatStream([user("Hi"), answer.message, user("Go")]))
    expect(outcomes[1]).toMatchObject({ outcome: "extend", fidelity: "exact" })
    expect(session.sequences()).toHaveLength(1)
  })

  test("of a raw prompt is its continuation", async () => {
    const { session } = openScriptedSession({ tokenizer, parser }, () => [sampleOf(" a time")])
    const deltas = await readAll(session.completeStream("Once upon"))
    expect(messageOf(deltas).content).toBe(" a time")
    expect(session.sequences()[0]?.messages).toBeUndefined()
  })

  test("comes at the end where the server streams no ids, or the parser reads whole texts only", async () => {
    const ids = sampleOf("one two").ids
    const texts = openScriptedSession({ tokenizer, parser, pieces: () => [{ text: "one" }, { text: " two" }] }, () => [
      { ids },
    ])
    const whole = openScriptedSession({ tokenizer, parser: (sampled, request) => parser(sampled, request) }, () => [
      { ids },
    ])
    for (const { session } of [texts, whole]) {
      const deltas = await readAll(session.chatStream([user("q")]))
      expect(deltas.map(({ type }) => type)).toEqual(["text", "end"])
      expect(messageOf(deltas).content).toBe("one two")
    }
  })

  test("holds back what may be a stop string until the server has said whether it is one", async () => {
    const ids = tokenizer.encode("one SO STOP")
    // A server's text may run ahead into the stop string, and is cut in the end.
    const pieces = (): Omit<CompletionDelta, "choice">[] =>
      ids.map((id) => ({ tokenIds: [id], text: tokenizer.decode([id]) }))
    const { session } = openScriptedSession({ tokenizer, parser, pieces }, () => [{ ids, text: "one SO " }])
    const deltas = await readAll(session.chatStream([user("q")], { stop: ["STOP"] }))
    const { answer } = endOf(deltas)
    expect(messageOf(deltas).content).toBe("one SO ")
    expect(answer.message.content).toBe("one SO ")
    expect(tokenizer.decode(answer.tokenIds)).toBe("one SO STOP")
    expect(deltas.length).toBeGreaterThan(3)
  })

  test("is refused where its pieces turn out not to be its beginning, and not recorded", async () => {
    const pieces = (): Omit<CompletionDelta, "choice">[] => [{ tokenIds: tokenizer.encode("other") }]
    const { session } = openScriptedSession({ tokenizer, parser, pieces }, () => [sampleOf("one")])
    await expect(readAll(session.chatStream([user("q")]))).rejects.toMatchObject({ code: "inference-answer" })
    expect(session.sequences()).toEqual([])
  })
})

describe("a stream that does not come to its end", () => {
  /** A server that streams two tokens and then waits for the signal. */
  function openWaiting(): { session: Session; aborted: Promise<unknown>; calls: () => number } {
    const aborted = Promise.withResolvers<unknown>()
    let calls = 0
    const session = openSession({
      tokenizer,
      maxTokens: 9,
      server: {
        name: "waiting",
        completeTokens: (_prompt, _sampling, { onDelta, signal } = {}) =>
          new Promise((_resolve, reject) => {
            calls += 1
            for (const id of tokenizer.encode("a b").slice(0, 2)) onDelta?.({ choice: 0, tokenIds: [id] })
            signal?.addEventListener("abort", () => {
              aborted.resolve(signal.reason)
              reject(signal.reason as Error)
            })
          }),
      },
    })
    return { session, aborted: aborted.promise, calls: () => calls }
  }

  const expectNothing = (session: Session): void => {
    expect(session.sequences()).toEqual([])
    expect(session.counts.calls).toBe(0)
  }

  test("is not recorded when its signal is aborted, and throws the signal's reason", async () => {
    const { session } = openWaiting()
    const controller = new AbortController()
    const stream = session.chatStream([user("q")], { signal: controller.signal })
    await stream.next()
    await stream.next()
    const waiting = stream.next()
    controller.abort(new Error("enough"))
    await expect(waiting).rejects.toThrow("enough")
    expectNothing(session)
  })

  test("is not recorded when the session is closed", async () => {
    const { session } = openWaiting()
    const stream = session.chatStream([user("q")])
    await stream.next()
    await session.close()
    await expect(readAll(stream)).rejects.toMatchObject({ code: "session-closed" })
    expectNothing(session)
  })

  test("is not recorded when the loop over it ends early: the request is aborted", async () => {
    const { session, aborted } = openWaiting()
    for await (const delta of session.chatStream([user("q")])) {
      expect(delta.type).toBe("text")
      break
    }
    await aborted
    expectNothing(session)
  })

  test("ends at once when it is stopped while a piece is waited for", async () => {
    const { session, aborted } = openWaiting()
    const stream = session.chatStream([user("q")])
    await stream.next()
    await stream.next()
    const waiting = stream.next()
    expect(await stream.return?.()).toEqual({ done: true, value: undefined })
    expect(await waiting).toEqual({ done: true, value: undefined })
    await aborted
    expect(await stream.next()).toEqual({ done: true, value: undefined })
    expectNothing(session)
  })

  test("makes no call when nobody asks for a piece", async () => {
    const { session, calls } = openWaiting()
    await session.chatStream([user("q")]).return?.()
    expect(calls()).toBe(0)
  })

  test("is not recorded when all came but nobody asked for the end", async () => {
    const { session, asked } = openScriptedSession({ tokenizer, parser }, () => [sampleOf("Hello")])
    let text = ""
    for await (const delta of session.chatStream([user("q")])) {
      if (delta.type === "text") text += delta.text
      if (text === "Hello") break
    }
    expectNothing(session)
    // The same again takes its place.
    const { answer } = endOf(await readAll(session.chatStream([user("q")])))
    expect(answer.index).toBe(0)
    expect(asked[1]).toEqual(asked[0])
    expect(session.sequences()).toHaveLength(1)
  })

  test.each([
    ["fewer logprobs than tokens", { logprobs: [-1] }, "logprobs-missing"],
    ["an aborted answer", { finishReason: "abort" as const }, "inference-aborted"],
  ])("fails with %s after its pieces, and is not recorded", async (_what, sample, code) => {
    const { session } = openScriptedSession({ tokenizer, parser }, () => [{ ...sampleOf("one two"), ...sample }])
    const deltas: AnswerDelta[] = []
    const reading = (async () => {
      for await (const delta of session.chatStream([user("q")])) deltas.push(delta)
    })()
    await expect(reading).rejects.toMatchObject({ code })
    expect(deltas.length).toBeGreaterThan(0)
    expectNothing(session)
  })

  test("leaves streams beside it alone: each is recorded when it ends", async () => {
    const { session } = openScriptedSession({ tokenizer, parser }, (_, call) => [sampleOf(`answer ${call}`)])
    const [one, two] = [session.chatStream([user("q")]), session.chatStream([user("q")])]
    await one.next()
    const whole = endOf(await readAll(two))
    expect(whole.answer.index).toBe(0)
    await one.return?.()
    expect(session.sequences()).toHaveLength(1)
  })
})
