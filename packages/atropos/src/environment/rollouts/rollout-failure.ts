import { isAtroposError } from "../../runtime/errors.ts"

/** At which border of the environment a rollout failed. */
export const boundaries = {
  provider: "An inference server refused, failed or could not be reached.",
  environment: "The environment's own code threw.",
  scorer: "The scoring of the answer threw.",
  sandbox: "The sandbox that runs the policy's code failed.",
  timeout: "The rollout took longer than worker_timeout.",
  cancelled: "The environment ended before the rollout did.",
} as const

export type Boundary = keyof typeof boundaries

/** A rollout that gave no result: data, not an exception that stops its siblings. */
export interface RolloutFailure {
  boundary: Boundary
  cause: unknown
  /** Whether the same rollout may succeed later without a change. */
  retryable: boolean
}

/** Carries a failure's boundary from where it is known to where it is recorded. */
class BoundaryError extends Error {
  readonly boundary: Boundary
  constructor(boundary: Boundary, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.boundary = boundary
  }
}

/** Runs `work`; what it throws counts as a failure at `boundary`, unless it comes from a known place of its own. */
export async function within<Value>(boundary: Boundary, work: () => Value | Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw boundaryOfCode(error) === undefined ? new BoundaryError(boundary, error) : error
  }
}

export function toFailure(error: unknown, signal: AbortSignal): RolloutFailure {
  if (signal.aborted) {
    const timedOut = signal.reason instanceof DOMException && signal.reason.name === "TimeoutError"
    return { boundary: timedOut ? "timeout" : "cancelled", cause: signal.reason, retryable: !timedOut }
  }
  if (error instanceof BoundaryError) return { boundary: error.boundary, cause: error.cause, retryable: false }
  const retryable = isAtroposError(error) && error.retryable
  return { boundary: boundaryOfCode(error) ?? "environment", cause: error, retryable }
}

export function describeFailure({ boundary, cause }: RolloutFailure): string {
  return `${boundary}: ${cause instanceof Error ? cause.message : String(cause)}`
}

function boundaryOfCode(error: unknown): Boundary | undefined {
  if (!isAtroposError(error)) return undefined
  if (error.code.startsWith("inference-") || error.code === "logprobs-missing") return "provider"
  return error.code.startsWith("sandbox-") ? "sandbox" : undefined
}
