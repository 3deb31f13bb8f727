import { AtroposError, type ErrorCode } from "../../../runtime/errors.ts"
import type { Commit, Payload, Recovered } from "../store.ts"
import type { Totals } from "./run-database.ts"

export interface WriterOptions {
  directory: string
  retainBytes: number
  maxFileBytes: number | null
}

export interface PayloadOnTheWay extends Omit<Payload, "free"> {
  groupId: number
  /** Of the segment, whose own length is 0 once its memory has moved. */
  bytes: number
}

/** What the writer does, in the order of arrival. */
export type Job =
  | ({ type: "commit"; payloads: readonly PayloadOnTheWay[] } & Omit<Commit, "payloads">)
  | { type: "compact"; snapshot: string }
  | { type: "recover" }
  | { type: "close" }

/** Jobs that build on each other, so that a failure takes those behind it along. */
export function isChange(job: Job): boolean {
  return job.type === "commit" || job.type === "compact"
}

/**
 * A job and the number of failures that its sender had seen: jobs sent before a failure was seen build on what
 * was not kept, so the writer leaves them out and their sender rejects them.
 */
export interface WriterRequest {
  failuresSeen: number
  job: Job
}

/** What the writer says; of jobs it speaks in their order. */
export type WriterReply =
  | { type: "opened"; totals: Totals }
  | { type: "refused"; error: ErrorFacts }
  /** The next `jobs` jobs are done and durable. */
  | { type: "done"; jobs: number; totals: Totals }
  | { type: "recovered"; recovered: Recovered }
  | { type: "failed"; error: ErrorFacts }

export interface ReaderOptions {
  directory: string
}

export interface ReadRequest {
  groupIds: readonly number[]
  /** Memory of earlier replies that nobody looks at any more. */
  freed: readonly ArrayBufferLike[]
}
export type ReadReply = { groupId: number } & ({ payload: Omit<Payload, "free"> } | { error: ErrorFacts })

/** An AtroposError on its way between threads, where classes do not travel. */
export interface ErrorFacts {
  code: ErrorCode
  message: string
  facts: Readonly<Record<string, unknown>>
  retryable: boolean
}

export function packError(error: AtroposError): ErrorFacts {
  return { code: error.code, message: error.message, facts: error.facts, retryable: error.retryable }
}

export function unpackError({ code, message, facts, retryable }: ErrorFacts): AtroposError {
  return new AtroposError(code, message, { facts, retryable })
}
