// The command lines of the four parts, as one would type them. Numbers that suit the task: 16 strings × 16 rollouts
// a batch, a learning rate that gets there in about 70 steps, and at most two batches of samples in advance.
import { join } from "node:path"

export interface Addresses {
  server: string
  policy: string
}

export const batchSize = 256
const endless = 1_000_000

export function serverCommand(runDirectory: string): string[] {
  return ["run-api", ...flags({ port: 0, "data-dir": runDirectory, json: true })]
}

export function policyCommand(seed: number, runDirectory: string): string[] {
  return [
    "policy",
    ...flags({
      port: 0,
      json: true,
      seed,
      characters: "0123456789",
      "context-length": 32,
      "tokenizer-dir": tokenizerDirectory(runDirectory),
    }),
  ]
}

export function trainerCommand({ server, policy }: Addresses, runDirectory: string): string[] {
  return [
    "grpo",
    ...flags({
      json: true,
      "rollout-server-url": server,
      "policy-url": policy,
      "batch-size": batchSize,
      "num-steps": endless,
      "learning-rate": 3e-3,
      "checkpoint-dir": join(runDirectory, "checkpoints"),
      // In effect: the weights at the end.
      "save-checkpoint-interval": endless,
    }),
  ]
}

export function environmentCommand(settings: readonly string[]): string[] {
  return ["serve", environmentName, ...settings, ...flags({ json: true })]
}

/** The environment's own flags, for `serve` and for the measurements of held-out strings. */
export function environmentSettings({ server, policy }: Addresses, seed: number, runDirectory: string): string[] {
  return flags({
    "env.rollout_server_url": server,
    "env.tokenizer_name": tokenizerDirectory(runDirectory),
    "env.seed": seed,
    "env.max_num_workers": 32,
    "env.max_batches_offpolicy": 2,
    "env.total_steps": endless,
    "env.steps_per_eval": 0,
    "env.shutdown_grace": 1,
    // So that whoever looks at the groups can read them.
    "env.include_messages": "true",
    "openai.base_url": `${policy}/v1`,
    "openai.server_type": "vllm",
    "openai.model_name": "policy",
  })
}

export const environmentName = "reverse_digits"

function tokenizerDirectory(runDirectory: string): string {
  return join(runDirectory, "tokenizer")
}

function flags(values: Readonly<Record<string, string | number | true>>): string[] {
  return Object.entries(values).flatMap(([name, value]) => (value === true ? [`--${name}`] : [`--${name}`, `${value}`]))
}
