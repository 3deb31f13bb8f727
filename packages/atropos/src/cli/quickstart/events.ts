/** What the quick start tells: with `--json` one object a line, else as lines for people. */
export type QuickstartEvent =
  | { event: "parts"; parts: { name: string; pid: number; address: string | null }[]; runDirectory: string }
  | StepEvent
  | ReportEvent

export interface StepEvent {
  event: "step"
  /** As the trajectory server counts: batches handed out. */
  step: number
  /** Mean score of the batch. */
  reward: number
  /** Share of its sequences with full marks. */
  exact: number
  tokensPerSecond: number
  /** Versions between the weights trained and those sampled with, on average. */
  staleness: number
  /** Since the start of the loop. */
  seconds: number
}

export interface ReportEvent {
  event: "report"
  reached: boolean
  reward: { start: number; end: number }
  /** Share of held-out strings answered exactly right by greedy sampling. */
  heldOut: { before: number; after: number }
  steps: number
  rollouts: number
  /** Since the start of the loop. */
  seconds: number
}
