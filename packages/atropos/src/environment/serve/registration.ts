import { setTimeout as sleep } from "node:timers/promises"

import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"

/** What the trajectory server and the trainer said at registration. */
export interface Registration {
  id: number
  /** The name with a number, `gsm8k_0`. */
  name: string
  checkpointDir: string
  checkpointInterval: number
  startingStep: number
  numSteps: number
  batchSize: number
  /** Sequences have to be shorter; 0 or less: no limit. */
  maxTokenLen: number
}

export interface RegisterOptions {
  client: TrajectoryClient
  config: EnvironmentConfig
  name: string
  signal: AbortSignal
  logger: Logger
  /** Between questions whether the trainer has started. @default 1000 */
  pollMs?: number
}

/** Registers, waiting for the server and for the trainer's start as long as it takes. */
export async function register(options: RegisterOptions): Promise<Registration> {
  const { client, config, name, signal, logger, pollMs = 1000 } = options
  const patience = { signal, totalTimeoutMs: Infinity }
  for (let asked = 0; ; asked++) {
    const answer = await client.registerEnvironment(
      {
        max_token_length: config.maxTokenLength,
        desired_name: name,
        weight: config.inferenceWeight,
        group_size: config.groupSize,
        min_batch_allocation: config.minBatchAllocation,
      },
      patience,
    )
    if (answer.status === "success") {
      const info = await client.info(patience)
      const batchSize = info.batch_size > 0 ? info.batch_size : config.batchSize
      checkSizes(config, batchSize)
      return {
        id: answer.env_id,
        name: answer.wandb_name,
        checkpointDir: answer.checkpoint_dir,
        checkpointInterval: answer.checkpoint_interval,
        startingStep: answer.starting_step,
        numSteps: answer.num_steps,
        batchSize,
        maxTokenLen: info.max_token_len,
      }
    }
    if (asked === 0)
      logger.info(
        "waiting for a trainer to register and ask for its first batch (atropos process needs neither trainer nor server)",
      )
    await sleep(pollMs, undefined, { signal })
  }
}

function checkSizes(config: EnvironmentConfig, batchSize: number): void {
  if (batchSize < 1) {
    throw new AtroposError("bad-option", "the trainer told no batch size; set one with --env.batch_size")
  }
  if (config.groupSize > batchSize) {
    throw new AtroposError(
      "bad-option",
      `group_size ${config.groupSize} is larger than the trainer's batch_size ${batchSize}: such a group fits into no batch; lower --env.group_size`,
    )
  }
}
