import { counted } from "../../runtime/counted.ts"
import type { DropReason } from "../groups/check-group.ts"
import type { Boundary } from "../rollouts/rollout-failure.ts"
import type { ItemOutcome, RunListener } from "./run-listener.ts"

/** Why a run ended. */
export const runEnds = {
  steps: "The trainer has, or will have from the queue, all steps.",
  exhausted: "There were no more items.",
  stopped: "It was told to stop.",
  failed: "Something failed that trying again does not mend.",
} as const

export type RunEnd = keyof typeof runEnds

/** What a run came to: nothing that was taken is missing from it. */
export interface RunSummary {
  end: RunEnd
  /** The trainer's step at the end. */
  step: number
  items: { taken: number; sent: number; dropped: number; unfinished: number }
  groupsSent: number
  groupsDropped: Partial<Record<DropReason, number>>
  rollouts: number
  rolloutsFailed: Partial<Record<Boundary, number>>
  seconds: number
}

/** Counts what happens. */
export class RunCounter implements RunListener {
  readonly items: Record<ItemOutcome, number> = { sent: 0, dropped: 0, returned: 0 }
  groupsSent = 0
  readonly groupsDropped: RunSummary["groupsDropped"] = {}
  rollouts = 0
  readonly rolloutsFailed: RunSummary["rolloutsFailed"] = {}
  readonly #began = performance.now()

  rolloutEnd: NonNullable<RunListener["rolloutEnd"]> = (rollout) => {
    this.rollouts += 1
    if (rollout.status === "done") return
    const { boundary } = rollout.failure
    this.rolloutsFailed[boundary] = (this.rolloutsFailed[boundary] ?? 0) + 1
  }

  itemEnd: NonNullable<RunListener["itemEnd"]> = ({ outcome }) => {
    this.items[outcome] += 1
  }

  groupSent: NonNullable<RunListener["groupSent"]> = () => {
    this.groupsSent += 1
  }

  groupDrop: NonNullable<RunListener["groupDrop"]> = ({ reason }) => {
    this.groupsDropped[reason] = (this.groupsDropped[reason] ?? 0) + 1
  }

  summary(end: RunEnd, state: { step: number; taken: number; unfinished: number }): RunSummary {
    const { sent, dropped } = this.items
    return {
      end,
      step: state.step,
      items: { taken: state.taken, sent, dropped, unfinished: state.unfinished },
      groupsSent: this.groupsSent,
      groupsDropped: this.groupsDropped,
      rollouts: this.rollouts,
      rolloutsFailed: this.rolloutsFailed,
      seconds: (performance.now() - this.#began) / 1000,
    }
  }
}

/** The summary in a sentence or two. */
export function describeSummary({ end, step, items, ...counts }: RunSummary): string {
  const ends: Readonly<Record<RunEnd, string>> = {
    steps: "all steps done",
    exhausted: "no more items",
    stopped: "stopped",
    failed: "given up",
  }
  return (
    `${ends[end]} at step ${step}: ${counted(items.taken, "item")} taken, ${items.sent} sent, ${items.dropped} dropped, ${items.unfinished} unfinished; ` +
    describeWork(counts)
  )
}

/** Groups sent and dropped, rollouts done and failed, the dropped and the failed by their reasons. */
export function describeWork({
  groupsSent,
  groupsDropped,
  rollouts,
  rolloutsFailed,
}: Pick<RunSummary, "groupsSent" | "groupsDropped" | "rollouts" | "rolloutsFailed">): string {
  return `${counted(groupsSent, "group")} sent${listed("dropped", groupsDropped)}; ${counted(rollouts, "rollout")}${listed("failed", rolloutsFailed)}`
}

function listed(what: string, counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([reason, count]) => `${count} ${reason}`)
  return parts.length === 0 ? "" : `, ${what}: ${parts.join(", ")}`
}
