export type Split = "train" | "eval"

/** The latest requests of one server, as many as its configuration says. */
export class RequestMetrics {
  readonly #length: number
  readonly #recent: Record<Split, { seconds: number; attempts: number }[]> = { train: [], eval: [] }
  readonly #next: Record<Split, number> = { train: 0, eval: 0 }

  constructor(length: number) {
    this.#length = Math.max(1, length)
  }

  add(split: Split, seconds: number, attempts: number): void {
    this.#recent[split][this.#next[split] % this.#length] = { seconds, attempts }
    this.#next[split] += 1
  }

  /** Under the original's names; a split without requests has none. Both attempt numbers are means per call. */
  report(index: number): Record<string, number> {
    return {
      ...this.#reportOf(index, "train", "", "average_num_attempts"),
      ...this.#reportOf(index, "eval", "eval_", "eval_retry_rate"),
    }
  }

  #reportOf(index: number, split: Split, prefix: string, attemptsName: string): Record<string, number> {
    const recent = this.#recent[split]
    if (recent.length === 0) return {}
    const seconds = recent.map((entry) => entry.seconds).toSorted((a, b) => a - b)
    const mean = seconds.reduce((sum, value) => sum + value, 0) / seconds.length
    const variance = seconds.reduce((sum, value) => sum + (value - mean) ** 2, 0) / seconds.length
    const name = `server/server_${index}_`
    return {
      [`${name}${prefix}request_time_avg`]: mean,
      [`${name}${prefix}request_time_std`]: Math.sqrt(variance),
      [`${name}${prefix}request_time_99p`]: percentile(seconds, 0.99),
      [name + attemptsName]: recent.reduce((sum, { attempts }) => sum + attempts, 0) / recent.length,
    }
  }
}

/** Between the two nearest of sorted values, in proportion. */
function percentile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share
  const below = sorted[Math.floor(at)] ?? 0
  const above = sorted[Math.ceil(at)] ?? below
  return below + (above - below) * (at - Math.floor(at))
}
