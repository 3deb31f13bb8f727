import type { Session, SessionSequence } from "../../inference/session/session.ts"
import { type EndedRollout, policyAgent } from "../rollouts/run-rollout.ts"
import type { RolloutResult, Scoring } from "../rollouts/rollout.ts"
import type { TrajectoryGroup, ScoredSequence } from "./trajectory-group.ts"

/**
 * Makes groups of the rollouts of one item: the policy's sessions are one, those of each further agent another.
 * A session that branched brings several sequences, all with the session's score; the group then says its size.
 */
export function gatherGroups(
  rollouts: readonly EndedRollout<unknown>[],
  scoring: (value: unknown, index: number) => RolloutResult | undefined,
): TrajectoryGroup[] {
  const byAgent = new Map<string, { sequences: ScoredSequence[]; sessions: number }>()
  for (const rollout of rollouts) {
    if (rollout.status === "failed") continue
    const result = scoring(rollout.value, rollout.index)
    if (result === undefined) continue
    for (const [agent, session] of rollout.sessions) {
      const scored = agent === policyAgent ? result : result.agents?.[agent]
      if (scored === undefined) continue
      const sequences = scoreSession(session, scored)
      if (sequences.length === 0) continue
      const group = byAgent.get(agent) ?? { sequences: [], sessions: 0 }
      byAgent.set(agent, group)
      group.sequences.push(...sequences)
      group.sessions += 1
    }
  }
  return [...byAgent.values()].map(({ sequences, sessions }) => ({
    sequences,
    // With a rollout missing the group stays short of its size, so that the check finds it.
    ...(sequences.length === sessions || sessions < rollouts.length
      ? {}
      : { groupOverrides: { group_size: sequences.length } }),
  }))
}

function scoreSession(session: Session, scoring: Scoring): ScoredSequence[] {
  return session.sequences().map((sequence) => {
    const { messages: conversation } = sequence
    return {
      tokens: sequence.tokens,
      masks: sequence.masks,
      ...(sequence.logprobs === undefined ? {} : { logprobs: sequence.logprobs }),
      versions: sequence.versions,
      sampledWith: sequence.sampledWith,
      ...(sequence.exact ? {} : { exact: false }),
      score: scoring.score,
      ...(conversation === undefined ? {} : { conversation }),
      ...(scoring.messages === undefined ? {} : { messages: scoring.messages }),
      ...(scoring.advantages === undefined ? {} : { advantages: spread(scoring.advantages, sequence) }),
      ...(scoring.overrides === undefined ? {} : { overrides: scoring.overrides }),
      ...(scoring.image === undefined ? {} : { image: scoring.image }),
    }
  })
}

/** One advantage per answer to one per token; tokens that are not trained on get 0. */
function spread(advantages: readonly number[], sequence: SessionSequence): number[] {
  const perToken = sequence.tokens.map(() => 0)
  for (const { answer, start, end } of sequence.answers) {
    perToken.fill(advantages[answer] ?? 0, start, end)
  }
  return perToken.map((advantage, position) => (sequence.masks[position] === -100 ? 0 : advantage))
}
