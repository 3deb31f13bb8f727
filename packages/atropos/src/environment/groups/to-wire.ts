import type { Tokenizer } from "../../chat/tokenizer.ts"
import type { InferenceMessage } from "../../inference/inference-server.ts"
import type { ScoredGroup as WireGroup } from "../../protocol/messages.ts"
import type { TrajectoryGroup, ScoredSequence } from "./trajectory-group.ts"

export interface WireOptions {
  /** Sends conversations too; sequences without one get a user message with their text. */
  includeMessages: boolean
  tokenizer: Pick<Tokenizer, "decode">
  environmentId?: number
}

/** The group as the trajectory server takes it; keys that no sequence has are left out. */
export function toWireGroup(group: TrajectoryGroup, options: WireOptions): WireGroup {
  const { sequences } = group
  const { environmentId } = options
  const params = generationParams(group)
  return {
    tokens: mutable(sequences.map(({ tokens }) => tokens)),
    masks: mutable(sequences.map(({ masks }) => masks)),
    scores: sequences.map(({ score }) => score),
    ...column("advantages", sequences, ({ advantages }) => advantages),
    ...column("ref_logprobs", sequences, ({ referenceLogprobs }) => referenceLogprobs),
    ...column("messages", sequences, (sequence) => messagesOf(sequence, options), []),
    ...column("inference_logprobs", sequences, ({ logprobs }) => logprobs),
    ...column("overrides", sequences, ({ overrides }) => overrides, {}),
    ...column("images", sequences, ({ image }) => image, null),
    ...column("distill_token_ids", sequences, ({ distillTokenIds }) => distillTokenIds),
    ...column("distill_logprobs", sequences, ({ distillLogprobs }) => distillLogprobs),
    ...(params === undefined ? {} : { generation_params: params }),
    ...(group.groupOverrides === undefined ? {} : { group_overrides: group.groupOverrides }),
    ...(environmentId === undefined ? {} : { env_id: environmentId }),
  }
}

function messagesOf(
  { messages, conversation, tokens }: ScoredSequence,
  { includeMessages, tokenizer }: WireOptions,
): readonly InferenceMessage[] | undefined {
  if (messages !== undefined || !includeMessages) return messages
  return conversation ?? [{ role: "user", content: tokenizer.decode(tokens) }]
}

/** One wire field from what the sequences have; with no `filler` for those that lack it, all of them must have it. */
function column(
  name: string,
  sequences: readonly ScoredSequence[],
  read: (sequence: ScoredSequence) => unknown,
  filler?: unknown,
): Record<string, unknown> {
  const values = sequences.map(read)
  const present = values.filter((value) => value !== undefined).length
  if (present === 0 || (filler === undefined && present < values.length)) return {}
  return { [name]: values.map((value) => (value === undefined ? filler : value)) }
}

function generationParams({
  generationParams: given,
  sequences,
}: TrajectoryGroup): Record<string, unknown> | undefined {
  const versions = sequences.map((sequence) =>
    (sequence.versions ?? []).map(({ version, start, end }) => ({ version, start, end })),
  )
  const params = {
    ...sampledWith(sequences),
    ...given,
    ...(versions.some((spans) => spans.length > 0) ? { policy_versions: versions } : {}),
  }
  return Object.keys(params).length === 0 ? undefined : params
}

/** How the group was sampled, as far as its sequences agree. */
function sampledWith(sequences: readonly ScoredSequence[]): Record<string, unknown> {
  const first = sequences[0]?.sampledWith ?? {}
  const wireNames = { temperature: "temperature", topP: "top_p", topK: "top_k", logprobsMode: "logprobs_mode" } as const
  const params: Record<string, unknown> = {}
  for (const key of ["temperature", "topP", "topK", "logprobsMode"] as const) {
    const value = first[key]
    if (value !== undefined && sequences.every((sequence) => sequence.sampledWith?.[key] === value)) {
      params[wireNames[key]] = value
    }
  }
  return params
}

function mutable<Value>(rows: readonly (readonly Value[])[]): Value[][] {
  return rows as Value[][]
}
