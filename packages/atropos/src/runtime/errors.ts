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
  "missing-dependency": "An optional package that this command needs is not installed.",
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
