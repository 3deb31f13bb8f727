import type { IngestLimits, IngestRequest, IngestResult } from "../prepared-group.ts"

/** What a worker is started with. */
export interface WorkerSetup {
  limits: IngestLimits
}

/** One body for a worker; its memory travels with it. */
export type Job = Omit<IngestRequest, "recycle" | "body"> & { body: Uint8Array<ArrayBuffer> }

/** The result, and the body's memory back. */
export type JobDone =
  | { outcome: "result"; result: IngestResult; buffer: ArrayBuffer }
  /** A fault of ours: the worker goes on with the next job. */
  | { outcome: "failed"; message: string; buffer: ArrayBuffer }
