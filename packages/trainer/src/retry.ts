import { setTimeout as sleep } from "node:timers/promises"

import { isAtroposError, type Logger } from "atropos-rl"

export interface RetryOptions {
  /** What is being done, for the log. */
  what: string
  logger: Logger
  signal: AbortSignal
  /** How long it may fail in a row. @default 300 */
  patienceSeconds?: number
  /** Milliseconds. */
  now?: () => number
}

const firstPauseMs = 200
const longestPauseMs = 5000

/** Calls until it works: the other side may start later, restart, or be busy. Refusals for good are thrown at once. */
export async function untilItWorks<Value>(call: () => Promise<Value>, options: RetryOptions): Promise<Value> {
  const { what, logger, signal, patienceSeconds = 300, now = () => performance.now() } = options
  const started = now()
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await call()
    } catch (error) {
      const isFinal = isAtroposError(error) && !error.retryable
      if (isFinal || signal.aborted || now() - started > patienceSeconds * 1000) throw error
      if (pauseMs > firstPauseMs) logger.warn(`${what} failed, trying again`, { error: describe(error) })
    }
    await sleep(pauseMs, undefined, { signal })
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  return cause instanceof Error && cause.message !== "" ? `${error.message}: ${cause.message}` : error.message
}
