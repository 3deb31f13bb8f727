/** One thing to measure: a call that deals with `bytes` bytes. */
export interface Subject {
  name: string
  bytes: number
  call: () => void
}

/** MB per CPU-second of each subject, one number a round; the subjects take turns, so that all see the same machine. */
export function measureRounds(subjects: readonly Subject[], rounds: number, msPerRound: number): Map<string, number[]> {
  const results = new Map<string, number[]>(subjects.map(({ name }) => [name, []]))
  for (const subject of subjects) measureOnce(subject, msPerRound / 2)
  for (let round = 0; round < rounds; round += 1) {
    for (const subject of subjects) results.get(subject.name)?.push(measureOnce(subject, msPerRound))
  }
  return results
}

function measureOnce({ call, bytes }: Subject, milliseconds: number): number {
  const start = process.cpuUsage()
  let calls = 0
  let micros = 0
  while (micros < milliseconds * 1000) {
    call()
    calls += 1
    const used = process.cpuUsage(start)
    micros = used.user + used.system
  }
  return (bytes * calls) / micros
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}

/** A ratio that is promised, from the rounds of both sides. */
export interface RatioResult {
  name: string
  ratio: number
  target: number
  /** What `--short` accepts: runs of seconds on a shared machine scatter. */
  gross: number
}

export function formatRounds(name: string, values: readonly number[], unit: string): string {
  const low = Math.min(...values).toFixed(unit === "ms" ? 2 : 0)
  const high = Math.max(...values).toFixed(unit === "ms" ? 2 : 0)
  return `${name.padEnd(46)} ${median(values)
    .toFixed(unit === "ms" ? 2 : 0)
    .padStart(7)} ${unit}   (${low} to ${high})`
}
