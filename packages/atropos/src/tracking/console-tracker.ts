import type { Tracker } from "./tracker.ts"

/** Writes one line an entry: the step, then the metrics by name, short. With `json`, the entry itself. */
export function createConsoleTracker(options: { write: (text: string) => void; json: boolean }): Tracker {
  return {
    log: ({ source, step, time, metrics }) => {
      if (options.json) {
        options.write(`${JSON.stringify({ event: "metrics", source, step, time, metrics })}\n`)
        return
      }
      const values = Object.entries(metrics)
        .toSorted(([a], [b]) => a.localeCompare(b))
        .map(([name, value]) => `  ${name}=${formatNumber(value)}`)
      options.write(`${source} step ${step}${values.join("")}\n`)
    },
    close: async () => {},
  }
}

function formatNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toPrecision(4)
}
