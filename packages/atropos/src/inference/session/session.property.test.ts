// The invariants of exact sessions, over random conversations of up to twelve turns with the small families.
import * as fc from "fast-check"
import { describe, expect, test } from "vitest"

import { Families } from "../../../../../conformance/suites/families/families.ts"
import { TurnTokens } from "../../chat/bridge/turn-tokens.ts"
import type { ChatTemplate } from "../../chat/chat-template.ts"
import type { InferenceMessage } from "../inference-server.ts"
import { openScriptedSession, type ScriptedSample, type ScriptedSession } from "./session-fixture.ts"

const vectors = new URL("../../../../../conformance/vectors/", import.meta.url).pathname
const families = new Families(vectors, { packages: false })

function family(name: string) {
  const found = families.find(name)
  if ("missing" in found) throw new Error(found.missing)
  const turnTokens = new TurnTokens(found.tokenizer, { stopTokenIds: found.stop, closingTokenIds: found.close })
  return { ...found, turnTokens }
}

const tools = [{ type: "function", function: { name: "add", parameters: { type: "object", properties: {} } } }]

/** One turn: what the client adds, what the policy samples, how its sample ends and how the client echoes it. */
interface Turn {
  asks: string
  answer: string
  thought: string | undefined
  call: { a: number; b: string } | undefined
  /** Sampled to the end, kept from us by the server, or cut after so many tokens. */
  end: "sampled" | "hidden" | number
  odd: boolean
  echo: "same" | "trimmed" | "without-thought" | "other-json"
  /** Goes on from the conversation before this many turns. */
  back: number
}

const words = fc.constantFrom(
  "Hello",
  "two words",
  "It is 42.",
  "naïve café",
  "日本",
  "a\nb",
  "{x}",
  "é😀",
  "Yes",
  "the answer is no",
  // Like the marks by which a session finds where answers end.
  "\u0091atropos",
  "\u0091atropos\u0091answer\u0092",
)
const turn: fc.Arbitrary<Turn> = fc.record({
  asks: words,
  answer: words,
  thought: fc.option(words, { nil: undefined }),
  call: fc.option(fc.record({ a: fc.integer({ min: -9, max: 99 }), b: words }), { nil: undefined, freq: 3 }),
  end: fc.oneof(
    { weight: 5, arbitrary: fc.constant("sampled" as const) },
    { weight: 2, arbitrary: fc.constant("hidden" as const) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 6 }) },
  ),
  odd: fc.boolean(),
  echo: fc.constantFrom("same", "same", "trimmed", "without-thought", "other-json"),
  back: fc.constantFrom(0, 0, 0, 0, 0, 1, 2),
})
const conversation = fc.record({
  system: fc.option(words, { nil: undefined }),
  turns: fc.array(turn, { minLength: 1, maxLength: 12 }),
})

interface Spelling {
  /** What the policy writes, without its end. */
  text: string
  message: InferenceMessage
}

/** How each small family's policy writes an answer. */
function spell(name: string, { answer, thought, call }: Turn, id: string): Spelling {
  const args = call === undefined ? undefined : JSON.stringify(call)
  const calls =
    args === undefined ? {} : { tool_calls: [{ id, type: "function", function: { name: "add", arguments: args } }] }
  const written = (json: string): string => `{"name": "add", "arguments": ${json}}`
  const callText = args === undefined ? "" : `<tool_call>${written(args)}</tool_call>`
  const content = call === undefined ? answer : null
  const message: InferenceMessage = { role: "assistant", content, ...calls }
  switch (name) {
    case "mini-think": {
      const body = call === undefined ? answer : callText
      if (thought === undefined) return { text: `\n</think>\n\n${body}`, message }
      return { text: `${thought}\n</think>\n\n${body}`, message: { ...message, reasoning_content: thought } }
    }
    case "mini-wrap":
      return args === undefined
        ? { text: `<|answer|>${answer}<|/answer|>`, message }
        : { text: `<|action|>[${written(args)}]<|/action|>`, message }
    case "mini-text":
    case "mini-dated":
      return { text: answer, message: { role: "assistant", content: answer } }
    default:
      return { text: call === undefined ? answer : callText, message }
  }
}

interface Played extends ScriptedSession {
  /** All ids of the sequences after each call. */
  kept: string[][]
}

/** Plays a conversation as a client would; a turn that the template refuses is left out. */
async function play(
  name: string,
  { system, turns }: { system: string | undefined; turns: readonly Turn[] },
  options: { history?: "template" | "keep"; plain?: boolean; template?: ChatTemplate } = {},
): Promise<Played> {
  const { tokenizer, turnTokens, stop, close, ...found } = family(name)
  const template = options.template ?? found.template
  const endId = close[0] ?? stop[0] ?? 0
  let current: Turn | undefined
  const sample = (prompt: readonly number[]): ScriptedSample => {
    if (current === undefined) throw new Error("no turn")
    const { text, message } = spell(name, current, `call_${prompt.length}`)
    const whole = tokenizer.encode(text)
    const ids = current.odd && options.plain !== true ? oddTokens((piece) => tokenizer.encode(piece), text) : whole
    if (typeof current.end !== "number") return { ids: current.end === "sampled" ? [...ids, endId] : ids, message }
    const cut = ids.slice(0, current.end)
    const rest = tokenizer.decode(cut)
    return cut.length < ids.length
      ? { ids: cut, finishReason: "length", message: { role: "assistant", content: rest } }
      : { ids, message }
  }
  const played = openScriptedSession(
    { tokenizer, template, turnTokens, history: options.history ?? "template", tools, now: () => new Date(2026, 0, 2) },
    (prompt) => [sample(prompt)],
  )
  const kept: string[][] = []
  const start: InferenceMessage[] = system === undefined ? [] : [{ role: "system", content: system }]
  let history: InferenceMessage[][] = [start]
  for (const next of turns) {
    current = next
    history = history.slice(0, Math.max(1, history.length - next.back))
    const before = history.at(-1) ?? start
    const messages = [...before, ask(before.at(-1), next.asks)]
    const answer = await played.session.chat(messages)
    history.push([...messages, options.plain === true ? answer.message : echo(answer.message, next.echo)])
    kept.push(played.session.sequences({ per: "answer" }).map(({ tokens }) => tokens.join()))
  }
  return { ...played, kept }
}

function ask(last: InferenceMessage | undefined, text: string): InferenceMessage {
  const [call] = Array.isArray(last?.["tool_calls"]) ? (last["tool_calls"] as { id: string }[]) : []
  return call === undefined
    ? { role: "user", content: text }
    : { role: "tool", tool_call_id: call.id, name: "add", content: text }
}

function echo(message: InferenceMessage, how: Turn["echo"]): InferenceMessage {
  const { content } = message
  const calls = message["tool_calls"]
  if (how === "trimmed" && typeof content === "string") return { ...message, content: `${content.trim()}\n` }
  if (how === "without-thought") {
    const { reasoning_content: _thought, ...rest } = message
    return rest
  }
  if (how === "other-json" && Array.isArray(calls))
    return {
      ...message,
      content: "",
      tool_calls: calls.map((call) => ({
        ...call,
        function: { ...call.function, arguments: JSON.stringify(JSON.parse(String(call.function.arguments)), null, 2) },
      })),
    }
  return message
}

/** The same text in smaller tokens than the tokenizer's own, where it has them. */
function oddTokens(encode: (text: string) => number[], text: string): number[] {
  return text
    .split(/(<[^<>]*>)/)
    .flatMap((part) => (part.startsWith("<") ? encode(part) : Array.from(part).flatMap(encode)))
}

const names = ["mini-chatml", "mini-think", "mini-roles", "mini-wrap", "mini-dated", "mini-text"]
const runs = { numRuns: 15 }

describe.each(names)("a session with %s", (name) => {
  const { tokenizer, close, turnTokens } = family(name)

  test.each(["template", "keep"] as const)("keeps every sampled token once, history %s", async (history) => {
    await fc.assert(
      fc.asyncProperty(conversation, async (script) => {
        const { session, asked, outcomes, kept } = await play(name, script, { history })
        // No call changes a recorded id.
        for (const [index, ids] of kept.entries()) expect(kept.at(-1)?.slice(0, index + 1)).toEqual(ids)
        const answers = session.sequences({ per: "answer" })
        expect(answers).toHaveLength(script.turns.length)
        for (const [index, outcome] of outcomes.entries()) {
          if (outcome.outcome !== "extend") continue
          const { continues, added, fidelity } = outcome
          // An extension's prompt begins with all ids of the node that it continues.
          const through = answers[continues.index]?.tokens ?? []
          expect(asked[index]).toEqual([...through, ...added.ids])
          if (fidelity !== "exact") continue
          // Node text, sampled text with its end, and added text are the rendered text.
          const sampled = continues.text + continues.answerText
          expect(outcome.text.startsWith(sampled) && outcome.text.endsWith(added.text)).toBe(true)
          const between = outcome.text.slice(sampled.length, outcome.text.length - added.text.length)
          expect(between === "" || turnTokens.endsSample(continues.ids.at(-1))).toBe(true)
          expect(
            tokenizer.encode(between).every((id) => tokenizer.isAddedToken(id) || tokenizer.decode([id]).trim() === ""),
          ).toBe(true)
        }
        checkSequences(session)
      }),
      runs,
    )
  })

  test("ends each finished turn of a path once", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (script) => {
        const { outcomes } = await play(name, script)
        for (const outcome of outcomes) {
          if (outcome.outcome !== "extend") continue
          const ended = turnTokens.endsTurn(outcome.continues.ids.at(-1))
          const lead = turnTokens.lead(outcome.added.text)
          if (ended) expect(lead).toBeUndefined()
          else if (outcome.close === "template") expect(lead).toBeDefined()
        }
      }),
      runs,
    )
  })

  test("comes to the same with other tokens and other echoes", async () => {
    await fc.assert(
      fc.asyncProperty(conversation, async (script) => {
        // Where a cut falls depends on the tokens, so only whole answers are compared.
        const whole = {
          ...script,
          turns: script.turns.map((next) =>
            typeof next.end === "number" ? { ...next, end: "hidden" as const } : next,
          ),
        }
        const [wild, plain] = [await play(name, whole), await play(name, whole, { plain: true })]
        expect(wild.outcomes.map(gist)).toEqual(plain.outcomes.map(gist))
      }),
      runs,
    )
  })

  test("comes to the same whether its template gives texts in pieces or whole", async () => {
    const { template } = family(name)
    const whole: ChatTemplate = { source: template.source, render: (request) => template.render(request) }
    await fc.assert(
      fc.asyncProperty(conversation, async (script) => {
        const [pieces, texts] = [await play(name, script), await play(name, script, { template: whole })]
        expect(pieces.outcomes.map(gist)).toEqual(texts.outcomes.map(gist))
        expect(pieces.asked).toEqual(texts.asked)
      }),
      runs,
    )
  })

  test.skipIf(close.length === 0 || name === "mini-text" || name === "mini-roles")(
    "gives the encoded rendering where every sample was the tokenizer's own",
    async () => {
      await fc.assert(
        fc.asyncProperty(conversation, async (script) => {
          const plain = { ...script, turns: script.turns.map((next) => ({ ...next, end: "sampled" as const })) }
          const { asked, outcomes } = await play(name, plain, { plain: true })
          for (const [index, { text }] of outcomes.entries()) {
            const outcome = outcomes[index]
            if (outcome?.outcome === "extend" && outcome.fidelity !== "exact") return
            expect(asked[index]).toEqual(tokenizer.encode(text))
          }
        }),
        runs,
      )
    },
  )

  test("never puts two samples in one node, even of equal text", async () => {
    const { session, outcomes } = await play(name, { system: undefined, turns: [] })
    expect(outcomes).toEqual([])
    expect(session.sequences()).toEqual([])
    const ids = tokenizer.encode("Yes")
    const { template } = family(name)
    const twice = openScriptedSession({ tokenizer, template, turnTokens }, () => [{ ids }, { ids }])
    await twice.session.chatChoices([{ role: "user", content: "q" }], 2)
    expect(twice.session.sequences()).toHaveLength(2)
  })
})

function gist(outcome: ScriptedSession["outcomes"][number]): unknown {
  if (outcome.outcome === "extend") return ["extend", outcome.fidelity, outcome.added.text, outcome.continues.index]
  return outcome.outcome === "branch" ? ["branch", outcome.reason, outcome.text] : ["start", outcome.text]
}

/** Equal lengths, only sampled ids unmasked, each once (or in all sequences that hold it), 1.0 where masked. */
function checkSequences(session: ScriptedSession["session"]): void {
  const trained = new Map<number, number>()
  for (const { tokens, masks, logprobs = [], answers } of session.sequences()) {
    expect([masks.length, logprobs?.length]).toEqual([tokens.length, tokens.length])
    const sampled = new Set(
      answers.flatMap(({ start, end }) => Array.from({ length: end - start }, (_, i) => start + i)),
    )
    for (const [i, mask] of masks.entries()) {
      expect(mask === -100 || (mask === tokens[i] && sampled.has(i))).toBe(true)
      expect(logprobs?.[i]).toBe(mask === -100 ? 1 : -0.5)
    }
    for (const { answer, start, end } of answers)
      if (end > start && masks[start] !== -100) trained.set(answer, (trained.get(answer) ?? 0) + 1)
  }
  const nonEmpty = session.sequences({ per: "answer" }).filter(({ masks }) => masks.some((mask) => mask !== -100))
  expect([...trained.values()].every((count) => count === 1)).toBe(true)
  expect(trained.size).toBe(nonEmpty.length)
  for (const { masks, answers } of session.sequences({ shared: "each" }))
    for (const { start, end } of answers) expect(masks.slice(start, end).includes(-100)).toBe(false)
}
