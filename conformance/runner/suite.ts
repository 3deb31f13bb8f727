/** What a suite says of one case. */
export type Verdict =
  | { verdict: "passed" }
  | { verdict: "failed"; difference: string }
  | { verdict: "skipped"; reason: string }

export interface Report {
  (id: string, verdict: Verdict): void
}

/** One suite: runs the cases in a file or (recursively) a folder, and reports each. */
export interface Suite {
  name: string
  /** Default path below conformance/vectors. */
  vectors: string
  /** Share of cases that must pass. @default 1 */
  threshold?: number
  run(files: readonly string[], report: Report, context: { root: string }): Promise<void>
  /** Whether this suite reads the file; others are named and skipped. */
  accepts(file: string): boolean
}
