import type { EnvironmentRegistration, TrainerRegistration } from "./registration.ts"

/** A group as it arrives: `environment` is what its env_id says, if an environment could have that id. */
export interface ArrivingGroup {
  readonly id: number
  readonly environment: number | null
  readonly size: number
  readonly bytes: number
}

/**
 * What happened to a run, in order. Applying the same events to a new run gives the same run: every time and id is in
 * them, and what was decided (which groups make a batch) is told, not decided again.
 *
 * Times are milliseconds since 1970.
 */
export type RunEvent =
  | { type: "register"; registration: TrainerRegistration }
  /** The trainer polled for the first time: environments may register. */
  | { type: "start" }
  | { type: "register-environment"; time: number; registration: EnvironmentRegistration }
  | { type: "disconnect-environment"; environment: number }
  /** `step` is the run's when the groups arrived. */
  | {
      type: "push"
      time: number
      step: number
      digest: string
      key: string | null
      groups: readonly ArrivingGroup[]
    }
  /** A batch of these groups; it counts only if the registration is still the one it was chosen for. */
  | { type: "form-batch"; epoch: number; groups: readonly number[] }
  /** The batch is handed out once more, since its answer may not have arrived: what came before no longer counts. */
  | { type: "hand-out-again"; batch: number }
  /** The batch's answer was written in full. Until `deadline`, if there is one, it can be acknowledged. */
  | { type: "deliver-batch"; batch: number; deadline: number | null; kept: number | null }
  /** By its newest hand-out. */
  | { type: "acknowledge-batch"; batch: number; kept: number | null }
  /** A group of a batch on its way can not be read: it is set aside, and the others are in their old places again. */
  | { type: "set-aside-group"; batch: number; group: number }
  /** Nobody acknowledged the batch in time: its groups are at the front of the queue again. */
  | { type: "return-batch"; batch: number }
  | { type: "lapse-environments"; environments: readonly number[] }
  | { type: "resume-environment"; environment: number; time: number }
  /** The answers to these pushes were written. */
  | { type: "answer-pushes"; digests: readonly string[] }
  | { type: "reset" }

/** Events that are true as soon as they happen and hold in whatever order they are logged among others. */
export type RunNote = Extract<
  RunEvent,
  { type: "deliver-batch" | "lapse-environments" | "resume-environment" | "answer-pushes" }
>
