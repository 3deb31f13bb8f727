import { setTimeout as sleep } from "node:timers/promises"

import { isAtroposError } from "../../runtime/errors.ts"
import { retryAfterOf, waitAfterFailures } from "../../runtime/retry.ts"
import type { Logger } from "../../runtime/logger.ts"

export interface RetryOptions {
  signal: AbortSignal
  logger: Logger
  /** What is tried, for the log: "registering at http://…". */
  what: string
  /** @default 10_000 */
  longestWaitMs?: number
}

/**
 * Calls until it works: the trajectory server may start later, or be restarted. Waits grow from 0.25 s, with
 * jitter; a refusal that would come again is thrown, and so is the abort of the signal.
 */
export async function untilItWorks<Value>(call: () => Promise<Value>, options: RetryOptions): Promise<Value> {
  const { signal, logger, what, longestWaitMs = 10_000 } = options
  for (let attempt = 0; ; attempt++) {
    signal.throwIfAborted()
    try {
      const value = await call()
      if (attempt > 0) logger.info(`${what}: works again`)
      return value
    } catch (error) {
      signal.throwIfAborted()
      if (!isAtroposError(error) || !error.retryable) throw error
      const waitMs = waitAfterFailures(attempt + 1, { longestWaitMs }, retryAfterOf(error))
      const level = attempt === 0 || attempt % 10 === 9 ? "warn" : "debug"
      logger[level](`${what}: ${error.message.replace(/\.$/, "")}; trying again`, {
        attempt: attempt + 1,
      })
      await sleep(waitMs, undefined, { signal })
    }
  }
}
