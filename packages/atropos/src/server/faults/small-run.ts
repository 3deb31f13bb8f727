// A run small enough to write out: two groups of two sequences make a batch.
import type { RegisterRequest, ScoredGroup } from "../../protocol/messages.ts"

export const smallRegistration: RegisterRequest = {
  wandb_group: "g",
  wandb_project: "p",
  batch_size: 4,
  max_token_len: 64,
  checkpoint_dir: "",
  save_checkpoint_interval: 0,
  starting_step: 0,
  num_steps: 9,
}

/** Two sequences that hardly compress, each with the group's id before `tokensEach` random tokens. */
export function noiseGroup(id: number, tokensEach: number): ScoredGroup {
  const tokens = [0, 1].map(() => [
    id,
    ...Array.from({ length: tokensEach }, () => Math.floor(Math.random() * 128_000)),
  ])
  return { tokens, masks: tokens, scores: [1, -0.25] }
}

export const groupIdOf = ({ tokens }: Pick<ScoredGroup, "tokens">): number => tokens[0]?.[0] ?? -1
