// Sessions with a scripted server: every prompt's ids, how each call came about, and the sequences in the end.
import { readFileSync } from "node:fs"
import { basename } from "node:path"

import type { PromptOutcome } from "../../packages/atropos/src/chat/bridge/conversation-record.ts"
import { TurnTokens } from "../../packages/atropos/src/chat/bridge/turn-tokens.ts"
import { parseLosslessJson, type LosslessJson } from "../../packages/atropos/src/chat/lossless-json.ts"
import type { ChatMessage } from "../../packages/atropos/src/chat/messages.ts"
import type { FinishReason } from "../../packages/atropos/src/inference/inference-server.ts"
import { openSession } from "../../packages/atropos/src/inference/session/recorded-session.ts"
import type { Session } from "../../packages/atropos/src/inference/session/session.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import { judge } from "../runner/judge.ts"
import type { Suite } from "../runner/suite.ts"
import { Families, type FamiliesOptions, type Family } from "./families/families.ts"
import { differenceOfIds, readIds } from "./families/ids.ts"
import { toMessages, toTools } from "./families/wire-messages.ts"
import { readOptions } from "./templates.ts"

type Ids = number[] | string

interface ExpectedCall {
  outcome: "start" | "extend" | "branch" | "refused"
  prompt?: { ids: Ids }
  continues?: number
  added?: { ids: Ids; text?: string }
  fidelity?: string
  close?: string
  reason?: string
}

interface SessionCase {
  id: string
  family: string
  history: "template" | "keep"
  calls: { samples?: { node: number; ids: Ids; finish_reason: FinishReason }[]; expect: ExpectedCall }[]
  sequences: { node: number; ids: Ids; sampled: [number, number][]; once: [number, number][] }[]
}

export function createSuite(options: FamiliesOptions = {}): Suite {
  return {
    name: "sessions",
    vectors: "sessions",
    accepts: (file) => file.endsWith(".json") && !file.endsWith("families.json"),
    async run(files, report, { root }) {
      const families = new Families(root, options)
      for (const file of files) {
        const text = readFileSync(file, "utf8")
        const lossless = parseLosslessJson(text)
        const read = JSON.parse(text) as SessionCase[] | SessionCase
        const cases = Array.isArray(read) ? read : [read]
        if (!cases.every(({ calls, sequences }) => Array.isArray(calls) && Array.isArray(sequences))) {
          report(basename(file), { verdict: "skipped", reason: "holds no sessions" })
          continue
        }
        for (const [index, one] of cases.entries()) {
          const family = families.find(one.family, file)
          if ("missing" in family) report(one.id, { verdict: "skipped", reason: family.missing })
          else
            await judge(report, one.id, () => play(one, Array.isArray(lossless) ? lossless[index] : lossless, family))
        }
      }
    },
  }
}

export const suite: Suite = createSuite()

/** Plays a session; the first difference, if there is one. */
async function play(one: SessionCase, exact: LosslessJson | undefined, family: Family): Promise<string | undefined> {
  const exactCalls = listAt(exact, "calls")
  let clock = new Date(2026, 0, 1, 12)
  let asked: readonly number[] = []
  let outcome: PromptOutcome<unknown> | undefined
  let at = 0
  const answers: ChatMessage[] = []
  const session = openSession({
    server: {
      name: "script",
      completeTokens: (prompt) => {
        asked = Array.from(prompt)
        const samples = one.calls[at]?.samples ?? []
        return Promise.resolve({
          choices: samples.map(({ ids, finish_reason }) => {
            const tokenIds = readIds(ids)
            const logprobs = tokenIds.map((_, i) => -0.001 * (i + 1))
            return { tokenIds, logprobs, text: "", finishReason: finish_reason, versions: [] }
          }),
          logprobsMode: "raw",
          departures: [],
          usage: { promptTokens: 0, completionTokens: 0 },
        })
      },
    },
    tokenizer: family.tokenizer,
    template: family.template,
    turnTokens: new TurnTokens(family.tokenizer, {
      stopTokenIds: family.stop,
      closingTokenIds: family.close,
      ...(family.boundaryAnchor === undefined ? {} : { boundaryAnchor: family.boundaryAnchor }),
    }),
    history: one.history,
    maxTokens: 1 << 20,
    now: () => clock,
    parser: ({ finishReason }) => ({ message: answers.shift() ?? { role: "assistant", content: "" }, finishReason }),
    onPrompt: (prepared) => {
      outcome = prepared
    },
  })
  const sessionTools = fieldOf(exact, "tools")

  for (const [index, call] of one.calls.entries()) {
    at = index
    const exactCall = exactCalls[index]
    const { variables, now } = readOptions(fieldOf(exactCall, "options"))
    if (now !== undefined) clock = now
    answers.splice(
      0,
      answers.length,
      ...listAt(exactCall, "samples").flatMap((sample) => toMessages([fieldOf(sample, "message") ?? null])),
    )
    const ownTools = exactCall instanceof Map && exactCall.has("tools") ? fieldOf(exactCall, "tools") : sessionTools
    outcome = undefined
    const where = `call ${index}: `
    try {
      await session.chatChoices(toMessages(fieldOf(exactCall, "messages")), Math.max(1, call.samples?.length ?? 1), {
        tools: toTools(ownTools),
        templateOptions: variables,
      })
    } catch (error) {
      if (!isAtroposError(error, "template-refused")) throw error
      if (call.expect.outcome !== "refused") return `${where}refused: ${error.message}`
      continue
    }
    if (call.expect.outcome === "refused") return `${where}sampled, expected a refusal`
    const difference = compareCall(call.expect, outcome, asked)
    if (difference !== undefined) return where + difference
  }
  return compareSequences(one, session)
}

function compareCall(
  expected: ExpectedCall,
  got: PromptOutcome<unknown> | undefined,
  asked: readonly number[],
): string | undefined {
  // What a case leaves open is not compared.
  const told = (outcome: ExpectedCall): string =>
    (["outcome", "reason", "fidelity", "close", "continues"] as const)
      .filter((part) => expected[part] !== undefined)
      .map((part) => outcome[part])
      .join(" ")
  const seen: ExpectedCall =
    got?.outcome === "extend"
      ? { outcome: "extend", fidelity: got.fidelity, close: got.close, continues: got.continues.index }
      : got?.outcome === "branch"
        ? { outcome: "branch", reason: got.reason }
        : { outcome: "start" }
  if (told(seen) !== told(expected)) return `${told(seen)}, expected ${told(expected)}`
  if (expected.added !== undefined && got?.outcome === "extend") {
    const difference = differenceOfIds("the added ids", got.added.ids, readIds(expected.added.ids))
    if (difference !== undefined) return difference
  }
  return expected.prompt === undefined
    ? undefined
    : differenceOfIds("the prompt's ids", asked, readIds(expected.prompt.ids))
}

function compareSequences(one: SessionCase, session: Session): string | undefined {
  const once = session.sequences({ shared: "once" })
  const each = session.sequences({ shared: "each" })
  if (once.length !== one.sequences.length) return `${once.length} sequences, expected ${one.sequences.length}`
  for (const [index, expected] of one.sequences.entries()) {
    const ids = readIds(expected.ids)
    for (const [got, spans] of [
      [once[index], expected.once],
      [each[index], expected.sampled],
    ] as const) {
      const trained = ids.map((_, i) => spans.some(([start, end]) => i >= start && i < end))
      const difference =
        differenceOfIds(`sequence ${index}`, got?.tokens ?? [], ids) ??
        differenceOfIds(
          `the mask of sequence ${index}`,
          got?.masks ?? [],
          ids.map((id, i) => (trained[i] === true ? id : -100)),
        )
      if (difference !== undefined) return difference
      const logprobs = got?.logprobs ?? []
      if (logprobs.length !== ids.length || logprobs.some((logprob, i) => (logprob === 1) === trained[i]))
        return `the logprobs of sequence ${index} do not go with its mask`
    }
  }
  return undefined
}

function fieldOf(value: LosslessJson | undefined, key: string): LosslessJson | undefined {
  return value instanceof Map ? value.get(key) : undefined
}

function listAt(value: LosslessJson | undefined, key: string): LosslessJson[] {
  const field = fieldOf(value, key)
  return Array.isArray(field) ? field : []
}
