import type { Refusal } from "../prepared-group.ts"
import { readText } from "./json-walk.ts"

/** One fault of a body, in FastAPI's form. `input` is strict JSON text, see `describeInput`. */
export interface Problem {
  type: ProblemType
  loc: readonly (string | number)[]
  msg: string
  input: string
}

export type ProblemType =
  | "missing"
  | "int_type"
  | "int_parsing"
  | "int_from_float"
  | "int_parsing_size"
  | "float_type"
  | "float_parsing"
  | "string_type"
  | "list_type"
  | "dict_type"
  | "value_error"
  | "greater_than_equal"
  | "less_than_equal"
  | "model_attributes_type"
  | "json_invalid"
  | "finite_number"
  | "string_unicode"
  | "too_short"
  | "too_long"
  | "length_mismatch"

/** How many faults of one body are named. */
export const maxProblems = 10

/** The longest `input` that is echoed whole. */
const maxInputBytes = 200

/** A 422 that names each of the faults. */
export function refuseProblems(problems: readonly Problem[]): Refusal {
  const details = problems.slice(0, maxProblems).map(({ type, loc, msg, input }) => {
    const rest = JSON.stringify({ type, loc, msg })
    return `${rest.slice(0, -1)},"input":${input}}`
  })
  return {
    status: 422,
    contentType: "application/json",
    body: `{"detail":[${details.join(",")}]}`,
    reason: problems[0]?.type ?? "value_error",
  }
}

/** A 400, 408 or 413 with one sentence. */
export function refuseBody(status: 400 | 408 | 413, detail: string, reason: string): Refusal {
  return { status, contentType: "application/json", body: JSON.stringify({ detail }), reason }
}

/** The value from `start` to `end` as a problem's `input`: itself when short, else its beginning as a string. */
export function describeInput(bytes: Uint8Array, start: number, end: number): string {
  if (end - start > maxInputBytes) {
    const beginning = readText(bytes, start, start + maxInputBytes).replace(/\ufffd+$/u, "")
    return JSON.stringify(`${beginning.toWellFormed()}… (${end - start} bytes)`)
  }
  const text = readText(bytes, start, end)
  // NaN and halves of surrogate pairs are not for a JSON answer: they are told as a string.
  try {
    JSON.parse(text)
    return /\\u[dD][89a-fA-F]/.test(text) ? JSON.stringify(text) : text
  } catch {
    return JSON.stringify(text)
  }
}
