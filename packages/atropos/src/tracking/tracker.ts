/** A table of a run: examples of rollouts, say. */
export interface MetricsTable {
  name: string
  columns: readonly string[]
  rows: readonly (readonly (string | number | boolean | null)[])[]
}

/** What one source logs at one step. */
export interface MetricsEntry {
  /** `env:gsm8k_0`, `trainer`, or any other name. */
  source: string
  step: number
  /** Milliseconds since 1970. */
  time: number
  metrics: Readonly<Record<string, number>>
  tables?: readonly MetricsTable[]
}

/** Where metrics go. A tracker neither throws nor waits: what it cannot deliver it counts and says once. */
export interface Tracker {
  log(entry: MetricsEntry): void
  /** Delivers what is left, within a few seconds. Safe to call twice. */
  close(): Promise<void>
}

export function combineTrackers(trackers: readonly Tracker[]): Tracker {
  return {
    log: (entry) => {
      for (const tracker of trackers) tracker.log(entry)
    },
    close: async () => {
      await Promise.all(trackers.map((tracker) => tracker.close()))
    },
  }
}
