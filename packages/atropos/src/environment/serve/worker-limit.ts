import type { EnvironmentStatusResponse } from "../../protocol/messages.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"

export interface WorkerLimitInput {
  config: Pick<
    EnvironmentConfig,
    "groupSize" | "maxBatchesOffpolicy" | "minBatchAllocation" | "evalHandling" | "evalLimitRatio"
  >
  /** `max_num_workers`, or what stands for it. */
  maxWorkers: number
  batchSize: number
  status: Pick<EnvironmentStatusResponse, "queue_size" | "self_queue_size" | "max_group_size" | "unallocated_fraction">
  evaluating: boolean
}

/**
 * How many groups may be in flight: what fits into `max_batches_offpolicy` batches beside what is queued, but at
 * least what fills the environment's own share of them.
 */
export function workerLimit(input: WorkerLimitInput): number {
  const { config, batchSize, status, evaluating } = input
  if (evaluating && config.evalHandling === "STOP_TRAIN") return 0
  const share = config.minBatchAllocation
  const ownGap = share === null ? 0 : missingOfOwnShare(input, share)
  const full = status.queue_size * config.groupSize >= config.maxBatchesOffpolicy * batchSize
  if (full) return ownGap
  const derivedBatch = Math.floor(batchSize * (status.unallocated_fraction + (share ?? 0)))
  const room = Math.floor((config.maxBatchesOffpolicy * derivedBatch) / config.groupSize) - status.queue_size
  const limited = evaluating && config.evalHandling === "LIMIT_TRAIN"
  const workers = limited ? Math.floor(input.maxWorkers * config.evalLimitRatio) : input.maxWorkers
  return Math.max(0, ownGap, Math.min(workers, room))
}

/** Groups until the own queue holds the environment's share of the batches that may wait, in whole packs. */
function missingOfOwnShare({ config, batchSize, status }: WorkerLimitInput, share: number): number {
  const wanted = config.maxBatchesOffpolicy * share * batchSize
  const inPacks = Math.ceil(wanted / status.max_group_size) * status.max_group_size
  const missing = inPacks - status.self_queue_size * config.groupSize
  return Math.max(0, Math.ceil(missing / config.groupSize))
}

/** Whether the steps done and the batches that wait are more than the run shall have. */
export function isComplete(
  status: Pick<EnvironmentStatusResponse, "current_step" | "queue_size">,
  options: { groupSize: number; batchSize: number; totalSteps: number },
): boolean {
  const waiting = Math.floor((status.queue_size * options.groupSize) / options.batchSize)
  return status.current_step + waiting > options.totalSteps
}
