import { TemplateFailure } from "./errors.ts"

/** Bounds on one rendering. Templates come from model repositories, so they are not trusted. */
export interface RenderLimits {
  /** Loop rounds, calls and elements touched. @default 20_000_000 */
  steps: number
  /** Characters of the output and of any text made on the way. @default 67_108_864 */
  textLength: number
  /** Elements of any list made on the way. @default 4_194_304 */
  listLength: number
  /** Calls of macros inside macros, and levels of nested values. @default 200 */
  depth: number
  /** Wall clock for one rendering. @default 10_000 */
  timeMs: number
}

export const defaultLimits: RenderLimits = {
  steps: 20_000_000,
  textLength: 1 << 26,
  listLength: 1 << 22,
  depth: 200,
  timeMs: 10_000,
}

const stepsBetweenClockReadings = 1 << 14

/** Counts what one rendering uses, and stops it at a limit. */
export class Budget {
  readonly limits: RenderLimits
  #steps = 0
  #nextReading = stepsBetweenClockReadings
  #depth = 0
  readonly #deadline: number

  constructor(limits: RenderLimits) {
    this.limits = limits
    this.#deadline = performance.now() + limits.timeMs
  }

  spend(steps: number): void {
    this.#steps += steps
    if (this.#steps < this.#nextReading) return
    if (this.#steps > this.limits.steps) throw limit(`takes more than ${this.limits.steps} steps`)
    this.#nextReading = this.#steps + stepsBetweenClockReadings
    if (performance.now() > this.#deadline) throw limit(`takes longer than ${this.limits.timeMs} ms`)
  }

  /** Checks the length of a text before or after it is made. */
  text(length: number): void {
    if (length > this.limits.textLength) throw limit(`makes a text of more than ${this.limits.textLength} characters`)
    this.spend(1 + (length >> 6))
  }

  list(length: number): void {
    if (length > this.limits.listLength) throw limit(`makes a list of more than ${this.limits.listLength} elements`)
    this.spend(1 + length)
  }

  /** Runs something that may come back to itself. */
  nested<T>(run: () => T): T {
    if (this.#depth >= this.limits.depth) throw limit(`nests more than ${this.limits.depth} deep`)
    this.#depth += 1
    try {
      return run()
    } finally {
      this.#depth -= 1
    }
  }
}

function limit(what: string): TemplateFailure {
  return new TemplateFailure("LimitError", `the template ${what}`)
}
