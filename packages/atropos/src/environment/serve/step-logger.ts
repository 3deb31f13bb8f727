import type { Tracker } from "../../tracking/tracker.ts"
import type { RunListener } from "./run-listener.ts"
import type { RunMetrics } from "./run-metrics.ts"

export interface StepLoggerOptions {
  metrics: RunMetrics
  tracker: Tracker
  /** Groups that have to be sent before the next entry; 0 or less: an entry at every step. */
  minItemsSent: number
}

/** Logs the metrics when the trainer has made a step and enough was sent, and what is left at the end. */
export class StepLogger implements RunListener {
  readonly #options: StepLoggerOptions
  #source = "env"
  #step: number | undefined

  constructor(options: StepLoggerOptions) {
    this.#options = options
  }

  registered: NonNullable<RunListener["registered"]> = ({ name, startingStep }) => {
    this.#source = `env:${name}`
    this.#step ??= startingStep
  }

  status: NonNullable<RunListener["status"]> = ({ status }) => {
    if (status.current_step === this.#step) return
    this.#step = status.current_step
    if (this.#options.metrics.groupsSent >= this.#options.minItemsSent) this.flush()
  }

  /** Logs now. */
  flush(): void {
    const { metrics, tracker } = this.#options
    const entry = metrics.entry(this.#source, this.#step ?? 0)
    if (Object.keys(entry.metrics).length > 0 || entry.tables !== undefined) tracker.log(entry)
  }
}
