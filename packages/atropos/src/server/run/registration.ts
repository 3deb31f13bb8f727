/** A trainer's registration. Integers may be of any size: they are kept as their digits. */
export interface TrainerRegistration {
  readonly wandbGroup: string
  readonly wandbProject: string
  readonly batchSize: string
  readonly maxTokenLength: string
  readonly checkpointDir: string
  readonly saveCheckpointInterval: string
  readonly startingStep: string
  readonly numSteps: string
}

export function isSameRegistration(a: TrainerRegistration, b: TrainerRegistration): boolean {
  return (
    a.wandbGroup === b.wandbGroup &&
    a.wandbProject === b.wandbProject &&
    a.batchSize === b.batchSize &&
    a.maxTokenLength === b.maxTokenLength &&
    a.checkpointDir === b.checkpointDir &&
    a.saveCheckpointInterval === b.saveCheckpointInterval &&
    a.startingStep === b.startingStep &&
    a.numSteps === b.numSteps
  )
}

export interface EnvironmentRegistration {
  readonly desiredName: string
  readonly maxTokenLength: string
  readonly weight: number
  readonly groupSize: string
  readonly minBatchAllocation: number | null
}

/** An integer's digits as a number to count with: beyond 2^53 every count is the same to us. */
export function countable(digits: string): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(digits)))
}
