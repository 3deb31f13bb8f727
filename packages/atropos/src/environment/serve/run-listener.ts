import type { EnvironmentStatusResponse } from "../../protocol/messages.ts"
import type { EvaluationResult } from "../evaluate/evaluation.ts"
import type { DropReason } from "../groups/check-group.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { RolloutFailure } from "../rollouts/rollout-failure.ts"
import type { EndedRollout } from "../rollouts/run-rollout.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { Registration } from "./registration.ts"

/** What became of an item: sent, dropped with its reason, or to be done again. */
export type ItemOutcome = "sent" | "dropped" | "returned"

/** What happens while an environment runs; every method is optional, and what one throws is logged and passed over. */
export interface RunListener {
  /** At the start, and again after the server has lost the registration. */
  registered?(registration: Registration): void
  /** A status has come; `started` workers since the one before. */
  status?(event: { status: EnvironmentStatusResponse; inFlight: number; limit: number; started: number }): void
  rolloutEnd?(rollout: EndedRollout<unknown>): void
  /** An item's rollouts have ended; `productive` when the environment made any group of them. */
  itemEnd?(event: { outcome: ItemOutcome; seconds: number; productive: boolean; failures: RolloutFailure[] }): void
  /** The server has acknowledged a group (or, in `process`, the file has it). */
  groupSent?(group: TrajectoryGroup): void
  groupDrop?(event: { reason: DropReason; detail: string; group?: TrajectoryGroup }): void
  evaluationStart?(step: number): void
  evaluationEnd?(event: { step: number; result: EvaluationResult | undefined; seconds: number }): void
  evaluationFail?(event: { step: number; cause: unknown }): void
}

type Events = Required<RunListener>

/** Tells all listeners of an event; logging and counting never cost data, so what they throw ends there. */
export function emitTo(
  listeners: readonly RunListener[],
  logger: Logger,
): <Name extends keyof Events>(name: Name, event: Parameters<Events[Name]>[0]) => void {
  return (name, event) => {
    for (const listener of listeners) {
      try {
        // The name fixes which event it is, which the union of methods no longer shows.
        ;(listener[name] as ((event: unknown) => void) | undefined)?.call(listener, event)
      } catch (error) {
        logger.error(`a listener of ${name} failed: ${error instanceof Error ? error.message : String(error)}`)
      }
    }
  }
}
