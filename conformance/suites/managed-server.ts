// The original's managed server on scripted samples: ours records the same sequences, and the right ones where it erred.
import { readFileSync } from "node:fs"
import { basename } from "node:path"

import { TurnTokens } from "../../packages/atropos/src/chat/bridge/turn-tokens.ts"
import type { FinishReason, InferenceMessage } from "../../packages/atropos/src/inference/inference-server.ts"
import { createAnswerParser } from "../../packages/atropos/src/inference/session/answer-parser.ts"
import { openSession } from "../../packages/atropos/src/inference/session/recorded-session.ts"
import type { SessionSequence } from "../../packages/atropos/src/inference/session/session.ts"
import { isAtroposError } from "../../packages/atropos/src/runtime/errors.ts"
import { judge } from "../runner/judge.ts"
import type { Suite } from "../runner/suite.ts"
import { Families, type FamiliesOptions, type Family } from "./families/families.ts"
import { differenceOfIds } from "./families/ids.ts"

interface Recorded {
  tokens: number[]
  masked_tokens: number[]
  logprobs: number[]
}

interface TraceCall {
  kind: "chat" | "completion"
  request: { messages?: InferenceMessage[]; prompt?: string; n?: number; tools?: Record<string, never>[] }
  samples: { ids: number[]; logprobs: number[]; finish_reason: FinishReason }[]
  response: { content?: string | null; tool_calls?: { id?: string }[] | null }[]
}

interface Trace {
  id: string
  family: string
  mode: "sequence" | "tree"
  tool_parser?: string
  calls: TraceCall[]
  nodes: Recorded[]
  faults?: { code: string }[]
  right?: Recorded[]
}

export function createSuite(options: FamiliesOptions = {}): Suite {
  return {
    name: "managed-server",
    vectors: "managed-server",
    accepts: (file) => file.endsWith(".json") && !file.endsWith("families.json"),
    async run(files, report, { root }) {
      const families = new Families(root, options)
      for (const file of files) {
        const trace = JSON.parse(readFileSync(file, "utf8")) as Trace
        if (!Array.isArray(trace.calls) || !Array.isArray(trace.nodes)) {
          report(basename(file), { verdict: "skipped", reason: "holds no trace" })
          continue
        }
        const family = families.find(trace.family, file)
        if ("missing" in family) report(trace.id, { verdict: "skipped", reason: family.missing })
        else await judge(report, trace.id, () => play(trace, family))
      }
    },
  }
}

export const suite: Suite = createSuite()

async function play(trace: Trace, family: Family): Promise<string | undefined> {
  let call: TraceCall | undefined
  const callIds: string[] = []
  const handedOut = new Map<string, InferenceMessage>()
  const session = openSession({
    server: {
      name: "script",
      completeTokens: () =>
        Promise.resolve({
          choices: (call?.samples ?? []).map(({ ids, logprobs, finish_reason }) => ({
            tokenIds: ids,
            logprobs,
            text: "",
            finishReason: finish_reason,
            versions: [],
          })),
          logprobsMode: "raw",
          departures: [],
          usage: { promptTokens: 0, completionTokens: 0 },
        }),
    },
    tokenizer: family.tokenizer,
    template: family.template,
    turnTokens: new TurnTokens(family.tokenizer, {
      stopTokenIds: family.stop,
      closingTokenIds: family.close,
      ...(family.boundaryAnchor === undefined ? {} : { boundaryAnchor: family.boundaryAnchor }),
    }),
    maxTokens: 1 << 20,
    parser: createAnswerParser({
      ...(trace.tool_parser === undefined ? {} : { toolCallFormat: trace.tool_parser }),
      newCallId: () => callIds.shift() ?? "call",
    }),
  })
  // An agent sends back what it was given, which is what the original gave only where that was right.
  const asHandedOut = (message: InferenceMessage): InferenceMessage =>
    message.role === "assistant" && typeof message.content === "string"
      ? (handedOut.get(message.content) ?? message)
      : message
  for (const [index, next] of trace.calls.entries()) {
    call = next
    callIds.push(...next.response.flatMap(({ tool_calls }) => (tool_calls ?? []).map(({ id }) => id ?? "call")))
    const { messages = [], prompt = "", n = 1, tools } = next.request
    try {
      const answers =
        next.kind === "chat"
          ? await session.chatChoices(messages.map(asHandedOut), n, { tools: tools ?? null })
          : await session.completeChoices(prompt, n)
      for (const [i, { content }] of next.response.entries()) {
        const ours = answers[i]?.message
        if (ours !== undefined && typeof content === "string" && content !== ours.content) handedOut.set(content, ours)
      }
      const lost = answers.findIndex(
        ({ finishReason }, i) => next.samples[i]?.finish_reason === "length" && finishReason !== "length",
      )
      if (lost >= 0) return `call ${index}: finish reason length became ${answers[lost]?.finishReason}`
    } catch (error) {
      if (!isAtroposError(error)) throw error
      const expected = trace.faults?.some(({ code }) => code === "padded-logprobs") === true
      return expected && error.code === "logprobs-missing" ? undefined : `call ${index}: ${error.message}`
    }
  }
  if (trace.faults !== undefined && trace.right === undefined) return "went through, expected an error"
  const got = session.sequences({ per: trace.mode === "tree" ? "answer" : "leaf" })
  return compare(got, trace.right ?? trace.nodes)
}

/** The original orders nodes by their last change, so they are matched by their tokens. */
function compare(got: readonly SessionSequence[], expected: readonly Recorded[]): string | undefined {
  if (got.length !== expected.length) return `${got.length} sequences, expected ${expected.length}`
  const left = [...got]
  for (const [index, one] of expected.entries()) {
    const same = left.findIndex(({ tokens, masks }) => sameIds(tokens, one.tokens) && sameIds(masks, one.masked_tokens))
    const [match] = left.splice(Math.max(0, same), 1)
    const difference =
      differenceOfIds(`sequence ${index}`, match?.tokens ?? [], one.tokens) ??
      differenceOfIds(`the mask of sequence ${index}`, match?.masks ?? [], one.masked_tokens) ??
      differenceOfIds(`the logprobs of sequence ${index}`, match?.logprobs ?? [], one.logprobs)
    if (difference !== undefined) return difference
  }
  return undefined
}

function sameIds(one: readonly number[], other: readonly number[]): boolean {
  return one.length === other.length && one.every((id, i) => id === other[i])
}
