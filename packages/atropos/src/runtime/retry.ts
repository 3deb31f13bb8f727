import { setTimeout as sleep } from "node:timers/promises"
import { AtroposError, isAtroposError } from "./errors.ts"
import type { Logger } from "./logger.ts"

export interface RetryPolicy {
  /** Before the first repetition; each further wait is twice as long. @default 250 */
  firstWaitMs?: number
  /** @default 10_000 */
  longestWaitMs?: number
  /** A server's Retry-After counts up to here. @default 60_000 */
  longestRetryAfterMs?: number
  /** From 0 to 1. @default Math.random */
  random?: () => number
}

/**
 * How long to wait after the given number of failures in a row: half the doubled wait and up to as much again, so
 * that clients do not come back in step. What the server asked for is the least, within its cap.
 */
export function waitAfterFailures(failures: number, policy: RetryPolicy, retryAfterMs: number | null = null): number {
  const { firstWaitMs = 250, longestWaitMs = 10_000, longestRetryAfterMs = 60_000, random = Math.random } = policy
  const full = Math.min(longestWaitMs, firstWaitMs * 2 ** Math.min(failures - 1, 30))
  const asked = Math.min(retryAfterMs ?? 0, longestRetryAfterMs)
  return Math.max(asked, full / 2) + (full / 2) * random()
}

/** What a failed attempt says about when to come back. */
export function retryAfterOf(error: unknown): number | null {
  const value = error instanceof AtroposError ? error.facts["retryAfterMs"] : null
  return typeof value === "number" ? value : null
}

export interface RetryOptions {
  policy: RetryPolicy
  /** No attempt begins after so long; what was thrown last is then thrown. */
  totalTimeoutMs: number
  signal?: AbortSignal | undefined
  /** Where it is said that an attempt failed and another follows, and that `what` works again. */
  report?: { logger: Logger; what: string }
  now?: () => number
}

/** Repeats `attempt` while it throws errors that say they are retryable and there is time left. */
export async function retry<Value>(attempt: () => Promise<Value>, options: RetryOptions): Promise<Value> {
  const { policy, totalTimeoutMs, signal, report, now = () => performance.now() } = options
  const end = now() + totalTimeoutMs
  for (let failures = 1; ; failures++) {
    signal?.throwIfAborted()
    try {
      const value = await attempt()
      if (failures > 1) report?.logger.info(`${report.what} works again`)
      return value
    } catch (error) {
      signal?.throwIfAborted()
      if (!isAtroposError(error) || !error.retryable) throw error
      const waitMs = waitAfterFailures(failures, policy, retryAfterOf(error))
      if (now() + waitMs >= end) throw error
      // The first says it; the rest of an outage would fill the log.
      const level = failures === 1 || failures % 10 === 0 ? "warn" : "debug"
      report?.logger[level](`${error.message.replace(/\.$/, "")}; trying again`, { attempt: failures })
      await sleep(waitMs, undefined, signal === undefined ? {} : { signal })
    }
  }
}
