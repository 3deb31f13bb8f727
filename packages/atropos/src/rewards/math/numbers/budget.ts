/**
 * Work that reading or comparing one answer may still do, counted in steps of roughly a tenth of a microsecond, so that
 * hostile input ends in "not equal" at the same place on every machine.
 */
export class Budget {
  private remaining: number

  constructor(steps: number) {
    this.remaining = steps
  }

  /** Takes `steps` off; false once there was too much. */
  spend(steps: number): boolean {
    this.remaining -= steps
    return this.remaining >= 0
  }
}

/** Enough for any honest answer; some milliseconds. */
export const comparisonSteps = 60_000
