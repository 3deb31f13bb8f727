import type { ConversationNode } from "../../chat/bridge/conversation-node.ts"
import { copyJson } from "../../chat/bridge/copy-json.ts"
import { answerPaths, trainingPaths, type TrainingPath } from "../../chat/bridge/training-paths.ts"
import type { FinishReason, InferenceMessage, VersionSpan } from "../inference-server.ts"
import type { AnswerSpan, SampledWith, SequenceOptions, SessionSequence } from "./session.ts"

/** What a session knows of a sample beside its ids. */
export interface SampleFacts {
  /** The order of the calls; samples of parallel calls are kept in the order in which they came. */
  call: number
  /** Undefined where the provider tells none. */
  logprobs: readonly number[] | undefined
  versions: readonly VersionSpan[]
  sampledWith: SampledWith
  finishReason: FinishReason
  exact: boolean
}

type Node = ConversationNode<SampleFacts>

/** The session's samples as training sequences, ordered by the calls that they came from. */
export function sessionSequences(nodes: readonly Node[], options: Required<SequenceOptions>): SessionSequence[] {
  const ordered = nodes.toSorted((a, b) => a.facts.call - b.facts.call || a.index - b.index)
  const paths = options.per === "answer" ? answerPaths(ordered) : trainingPaths(ordered, options.shared)
  return paths.map(toSequence)
}

function toSequence({ path, trained }: TrainingPath<SampleFacts>): SessionSequence {
  const tokens: number[] = []
  const masks: number[] = []
  const logprobs: number[] = []
  const answers: AnswerSpan[] = []
  const versions: VersionSpan[] = []
  for (const node of path) {
    for (const id of node.added) {
      tokens.push(id)
      masks.push(-100)
      logprobs.push(1)
    }
    const start = tokens.length
    const counts = trained.has(node)
    for (const [i, id] of node.ids.entries()) {
      tokens.push(id)
      masks.push(counts ? id : -100)
      logprobs.push(counts ? (node.facts.logprobs?.[i] ?? Number.NaN) : 1)
    }
    answers.push({ answer: node.index, start, end: tokens.length })
    for (const span of node.facts.versions) versions.push({ ...span, start: span.start + start, end: span.end + start })
  }
  const exact = path.every(({ facts }) => facts.exact)
  const last = path.at(-1)
  return {
    tokens,
    masks,
    logprobs: exact ? logprobs : undefined,
    answers,
    versions,
    sampledWith: agreedSampling(path),
    messages: last === undefined ? undefined : conversationOf(last),
    finishReason: last?.facts.finishReason ?? "stop",
    exact,
  }
}

/** A field on which the answers differ is left out. */
function agreedSampling(path: readonly Node[]): SampledWith {
  const [first, ...others] = path.map(({ facts }) => facts.sampledWith)
  const agreed: SampledWith = { ...first }
  for (const key of ["temperature", "topP", "topK", "logprobsMode"] as const)
    if (others.some((other) => other[key] !== agreed[key])) delete agreed[key]
  return agreed
}

/** The conversation as the client saw it, the policy's own messages as they were handed out. */
function conversationOf(node: Node): InferenceMessage[] | undefined {
  if (node.chat === undefined || node.message === undefined) return undefined
  return copyJson([...node.chat.entries.map(({ message, own }) => own?.message ?? message), node.message])
}
