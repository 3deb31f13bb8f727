import type { Budget } from "./values/budget.ts"

/** What one rendering carries through every operation. */
export interface Runtime {
  readonly budget: Budget
  /** The clock that strftime_now reads: local time. */
  readonly now: () => Date
  /** Whether `{% autoescape %}` is on at the moment. */
  autoescape: boolean
}
