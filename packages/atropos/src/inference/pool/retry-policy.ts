import type { AtroposError } from "../../runtime/errors.ts"

export interface RetryPolicy {
  /** Tries of one request in all. @default 6 */
  maxAttempts: number
  /** Wait before the second try; each further one doubles. @default 500 */
  firstDelayMs: number
  /** @default 30_000 */
  longestDelayMs: number
  /** A server's Retry-After counts up to here. @default 60_000 */
  longestRetryAfterMs: number
}

export const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  firstDelayMs: 500,
  longestDelayMs: 30_000,
  longestRetryAfterMs: 60_000,
}

/** A request that took its whole timeout is tried once more, not for hours. */
const attemptsAfterTimeout = 2

/** How long to wait before the next try, or undefined when there should be none. */
export function delayBeforeRetry(
  error: AtroposError,
  attemptsDone: number,
  policy: RetryPolicy,
  random: () => number,
): number | undefined {
  if (!error.retryable || attemptsDone >= policy.maxAttempts) return undefined
  if (error.code === "inference-timeout" && attemptsDone >= attemptsAfterTimeout) return undefined
  // Between half and the whole, so that those who failed together do not come back together.
  const backoff = Math.min(policy.longestDelayMs, policy.firstDelayMs * 2 ** (attemptsDone - 1)) * (0.5 + random() / 2)
  const asked = error.facts["retryAfterMs"]
  return typeof asked === "number" ? Math.max(backoff, Math.min(asked, policy.longestRetryAfterMs)) : backoff
}
