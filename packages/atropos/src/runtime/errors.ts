/**
 * The base of every error this package throws on purpose.
 *
 * Match on `code`, not on the class: two copies of a package in one process have two classes.
 * A message says what was wrong, what was received and the way out, and never holds secrets or payloads.
 */
export class AtroposError extends Error {
  readonly code: ErrorCode
  /** Facts about the failure, for programs. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Whether the same call may succeed later without a change by the caller. */
  readonly retryable: boolean

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; facts?: Readonly<Record<string, unknown>>; retryable?: boolean } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = "AtroposError"
    this.code = code
    this.facts = options.facts ?? {}
    this.retryable = options.retryable ?? false
  }
}

/** All codes, each with the sentence that stands in the docs (docs/errors.md; a test compares them). */
export const errorCodes = {
  "bad-option": "A command-line flag, configuration value or function option is not valid.",
  "bad-template": "A chat template does not compile.",
  "bad-tokenizer": "A tokenizer's files are missing, not valid, or of a kind that is not supported.",
  "bad-weights": "A policy's weights are damaged or of another shape than the policy they are for.",
  "client-closed": "A trajectory client was closed before a group was delivered.",
  "cannot-listen": "A server can not listen on the address it was given.",
  "dataset-broken": "A file of a data set, or a row in it, cannot be read; the message names the place.",
  "dataset-columns": "A data set's rows lack columns that are needed; the message names them and those there are.",
  "dataset-missing": "There is no such data set, configuration or split.",
  "environment-failed": "A method of an environment without which nothing goes on threw.",
  "group-not-json": "A group holds what JSON can not say, such as NaN; the message names the place.",
  "history-rewritten": "A chat template writes earlier turns differently later, so no mask of them would be right.",
  "hub-unavailable": "A file of a model or data set is not in the cache and could not be downloaded.",
  "inference-aborted": "An inference server aborted the answer in the middle: what there is of it is no sample.",
  "inference-answer": "An inference server's answer cannot be read or lacks what was asked for.",
  "inference-network": "An inference server could not be reached or cut the connection.",
  "inference-request": "An inference server refused or failed a request; the message has its own words.",
  "inference-timeout": "A wait for an inference server, or for a place at one, went past its bound.",
  "inference-unsupported": "An inference server has no way to do what was asked of it.",
  "logprobs-missing": "A policy's sample has no logprob for each of its tokens, so it cannot be trained on.",
  "math-pool-closed": "A pool of math checkers was closed before a check was done.",
  "math-pool-full": "Too many math checks wait for a pool of checkers already.",
  "no-room": "A prompt fills the context: no token is left for an answer.",
  "template-refused": "A chat template raised while it was rendered, or went past a limit.",
  "missing-dependency": "An optional package that this command needs is not installed.",
  "part-failed": "A process of the quick start ended, or did not begin to answer; the message has its last lines.",
  "server-garbled": "A trajectory server's answer can not be read: a proxy's page, or half an answer.",
  "port-taken": "Another program listens on the port.",
  "server-refused": "A trajectory server answered a call with an error; the message has its words.",
  "server-unreachable": "A trajectory server gave no answer: not there, connection cut, or too slow.",
  "spool-failed": "A trajectory client's spool on disk could not be written.",
  "spool-full": "A push was aborted while it waited for room in the client's spool: the group was not taken.",
  "spool-locked": "Another trajectory client uses the spool directory.",
  "session-closed": "A session was closed before the call, or while it waited.",
  "store-closed": "The store was closed before the call.",
  "store-damaged": "A run's file is damaged: the message says how to salvage what is in it.",
  "store-duplicate-group": "A group id was committed twice.",
  "store-failed": "The disk or the system refused a read or write of a run's file for another reason than space.",
  "store-foreign": "The file is no run of Atropos.",
  "store-full": "The disk has no room for a commit: nothing of it is kept, what was acknowledged is.",
  "store-locked": "Another server has this run open.",
  "store-newer": "The run was written by a newer version of Atropos.",
  "store-no-group": "The store does not hold a group, or no longer.",
  "ingest-failed": "The server could not check a push, through no fault of the push.",
  "ingest-overloaded": "Too many bytes of pushes wait to be checked.",
} as const

export type ErrorCode = keyof typeof errorCodes

export function isAtroposError(error: unknown, code?: ErrorCode): error is AtroposError {
  return (
    error instanceof Error &&
    "code" in error &&
    typeof error.code === "string" &&
    error.code in errorCodes &&
    (code === undefined || error.code === code)
  )
}
