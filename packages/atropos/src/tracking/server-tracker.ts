import { setTimeout as sleep } from "node:timers/promises"

import type { LogEntry } from "../protocol/messages.ts"
import { isAtroposError } from "../runtime/errors.ts"
import type { Logger } from "../runtime/logger.ts"
import type { MetricsEntry, Tracker } from "./tracker.ts"

export interface ServerTrackerOptions {
  client: { log(entries: readonly LogEntry[], options: { signal: AbortSignal }): Promise<void> }
  logger: Logger
  /** Entries that may wait while the server is away; the oldest go first. @default 1000 */
  capacity?: number
  /** Time for what is left when the tracker is closed. @default 3000 */
  closeMs?: number
}

/** Hands metrics to the trajectory server, which keeps them with the run. One request at a time, repeated until taken. */
export function createServerTracker(options: ServerTrackerOptions): Tracker {
  const { client, logger, capacity = 1000, closeMs = 3000 } = options
  const waiting: LogEntry[] = []
  const end = new AbortController()
  let dropped = 0
  let refused = false
  let sending: Promise<void> | undefined

  const send = async (): Promise<void> => {
    for (let attempt = 0; waiting.length > 0 && !end.signal.aborted;) {
      const batch = waiting.slice(0, 100)
      try {
        await client.log(batch, { signal: end.signal })
        waiting.splice(0, batch.length)
        attempt = 0
      } catch (error) {
        if (isAtroposError(error, "server-refused") && !error.retryable) {
          if (!refused) logger.warn(`the trajectory server takes no metrics: ${error.message}`)
          refused = true
          waiting.length = 0
          return
        }
        await sleep(Math.min(10_000, 500 * 2 ** attempt++), undefined, { signal: end.signal }).catch(() => {})
      }
    }
  }

  return {
    log: (entry) => {
      if (refused || end.signal.aborted) return
      waiting.push(...toWire(entry))
      while (waiting.length > capacity) {
        waiting.shift()
        if (dropped++ === 0) logger.warn("the trajectory server takes no metrics for long: the oldest are dropped")
      }
      sending ??= send().finally(() => {
        sending = undefined
      })
    },
    close: async () => {
      const timer = setTimeout(() => end.abort(), closeMs)
      await sending
      clearTimeout(timer)
      end.abort()
      dropped += waiting.length
      if (dropped > 0) logger.warn(`${dropped} entries of metrics did not reach the trajectory server`)
      dropped = 0
      waiting.length = 0
    },
  }
}

/** The wire has one table an entry. */
function toWire({ source, step, time, metrics, tables = [] }: MetricsEntry): LogEntry[] {
  const head = { source, step, time: time / 1000 }
  const finite = Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)))
  const [first, ...rest] = tables.map(({ name, columns, rows }) => ({
    name,
    columns: [...columns],
    rows: rows.map((row) => [...row]),
  }))
  return [
    { ...head, metrics: finite, ...(first === undefined ? {} : { table: first }) },
    ...rest.map((table) => ({ ...head, metrics: {}, table })),
  ]
}
