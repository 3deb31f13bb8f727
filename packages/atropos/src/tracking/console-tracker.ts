import type { Tracker } from "./tracker.ts"

/** Spreads and timings: in the JSON form and the other trackers only, a line has no room for them. */
const detail = /(^|_)(train_perf|server)\/|_(std|max|min|p95)$/

/** Writes one line an entry: the step, then the main metrics by name. With `json`, the whole entry. */
export function createConsoleTracker(options: { write: (text: string) => void; json: boolean }): Tracker {
  return {
    log: ({ source, step, time, metrics }) => {
      if (options.json) {
        options.write(`${JSON.stringify({ event: "metrics", source, step, time, metrics })}\n`)
        return
      }
      const values = Object.entries(metrics)
        .filter(([name]) => !detail.test(name))
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
