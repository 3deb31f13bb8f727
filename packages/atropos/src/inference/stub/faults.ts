/** What goes wrong with one request. Tokens are counted from the start of the answer. */
export type StubFault =
  /** A failing status in the dialect's own shape, before anything is generated. */
  | { kind: "status"; status: number; message?: string; code?: string; retryAfterSeconds?: number }
  /** The answer is right and late. */
  | { kind: "slow"; milliseconds: number }
  /** No answer ever comes. */
  | { kind: "hang" }
  /** The connection is cut: before the answer, or in a stream after some tokens. */
  | { kind: "cut"; afterTokens?: number }
  /** An error inside a 200, or in a stream after some tokens. */
  | { kind: "error-inside"; message?: string; code?: number | string; afterTokens?: number }
  /** The server ends the answer itself, with what there is of it. */
  | { kind: "abort"; afterTokens: number }
  /** New weights in the middle of the answer. */
  | { kind: "new-weights"; atToken: number; version: string }
  /** One answer, whatever `n` asks for. */
  | { kind: "one-choice" }
  /** An answer of which a field is missing or of another kind, such as a proxy's page. */
  | { kind: "garbage"; body: string }

export const faultKinds = [
  "status",
  "slow",
  "hang",
  "cut",
  "error-inside",
  "abort",
  "new-weights",
  "one-choice",
  "garbage",
] as const

/** The connection is to be cut. */
export class CutConnection extends Error {}

/** An error is to be told where the answer has begun. */
export class FailInside extends Error {
  readonly serverCode: number | string

  constructor(fault: Extract<StubFault, { kind: "error-inside" }>) {
    super(fault.message ?? "The stub failed as it was told to")
    this.serverCode = fault.code ?? 500
  }
}
