import type { EnvironmentAbout } from "../../packages/atropos/src/environment/environment-class.ts"
import { Environment } from "../../packages/atropos/src/environment/environment.ts"
import type { Rollout, RolloutResult } from "../../packages/atropos/src/environment/rollouts/rollout.ts"
import type { InferenceMessage } from "../../packages/atropos/src/inference/inference-server.ts"

export const turns = 3
export const answerTokens = 24

/** A conversation of three turns about nothing. */
export class Conversation extends Environment<number> {
  static readonly about: EnvironmentAbout = { name: "conversation" }

  override nextItem(): number {
    return 0
  }

  override async collectTrajectory(item: number, { session, index }: Rollout): Promise<RolloutResult> {
    const messages: InferenceMessage[] = [
      { role: "system", content: "You are asked three questions, one after the other. Answer each with some words." },
    ]
    for (let turn = 0; turn < turns; turn++) {
      messages.push({ role: "user", content: `This is question ${turn} of item ${item}: what comes next, and why?` })
      const answer = await session.chat(messages)
      messages.push(answer.message)
    }
    return { score: index }
  }
}
