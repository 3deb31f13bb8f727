export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Of the values as a whole population, as numpy's `std`. */
export function standardDeviation(values: readonly number[]): number {
  const middle = mean(values)
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)))
}

export function largest(values: readonly number[]): number {
  return values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)
}

export function smallest(values: readonly number[]): number {
  return values.reduce((least, value) => Math.min(least, value), Number.POSITIVE_INFINITY)
}

/** Values kept by name: between two logs may lie days of waiting. */
const capacity = 10_000

/** Values by name, the newest ones; those with two and more give `_mean`, `_std`, `_max` and `_min`. */
export class Series {
  readonly #values = new Map<string, number[]>()
  readonly #counts = new Map<string, number>()

  add(name: string, value: number): void {
    const values = this.#values.get(name) ?? []
    this.#values.set(name, values)
    values.push(value)
    if (values.length > 2 * capacity) values.splice(0, values.length - capacity)
    this.#counts.set(name, this.count(name) + 1)
  }

  count(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  metrics(): Record<string, number> {
    const metrics: Record<string, number> = {}
    for (const [name, values] of this.#values) {
      if (values.length < 2) continue
      metrics[`${name}_mean`] = mean(values)
      metrics[`${name}_std`] = standardDeviation(values)
      metrics[`${name}_max`] = largest(values)
      metrics[`${name}_min`] = smallest(values)
    }
    return metrics
  }
}
