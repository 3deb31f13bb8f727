import type { IngestLimits, IngestResult, PrepareRequest } from "../prepared-group.ts"

/** What a worker is started with. */
export interface WorkerSetup {
  limits: IngestLimits
}

/** One body for a worker. Memory that is not shared travels with it, and does not come back. */
export type Job = PrepareRequest

export type JobDone =
  | { outcome: "result"; result: IngestResult }
  /** A fault of ours: the worker goes on with the next job. */
  | { outcome: "failed"; message: string }
