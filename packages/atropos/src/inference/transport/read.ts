import { AtroposError } from "../../runtime/errors.ts"

export type JsonObject = Record<string, unknown>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Fields that an answer may lack, or have as something else, without being less of an answer. */
export function textOr(value: unknown, fallback: string): string {
  return typeof value === "string" ? value : fallback
}

export function numberOr(value: unknown, fallback: number): number {
  return typeof value === "number" ? value : fallback
}

/** Reads fields of an answer; what is missing or of another kind names the server and the field. */
export class AnswerReader {
  readonly server: string

  constructor(server: string) {
    this.server = server
  }

  object(value: unknown, what: string): JsonObject {
    if (isObject(value)) return value
    throw this.unreadable(what, "an object", value)
  }

  array(value: unknown, what: string): unknown[] {
    if (Array.isArray(value)) return value
    throw this.unreadable(what, "a list", value)
  }

  objects(value: unknown, what: string): JsonObject[] {
    return this.array(value, what).map((entry) => this.object(entry, `${what}[]`))
  }

  numbers(value: unknown, what: string): number[] {
    const list = this.array(value, what)
    for (const entry of list) {
      if (typeof entry !== "number") throw this.unreadable(`${what}[]`, "a number", entry)
    }
    return list as number[]
  }

  number(value: unknown, what: string): number {
    if (typeof value === "number") return value
    throw this.unreadable(what, "a number", value)
  }

  string(value: unknown, what: string): string {
    if (typeof value === "string") return value
    throw this.unreadable(what, "a string", value)
  }

  unreadable(what: string, wanted: string, value: unknown, hint = ""): AtroposError {
    const received =
      value === undefined ? "nothing" : value === null ? "null" : Array.isArray(value) ? "a list" : typeof value
    return new AtroposError(
      "inference-answer",
      `${this.server} answered with ${received} where ${what} should be ${wanted}${hint === "" ? "" : `; ${hint}`}`,
      { facts: { field: what } },
    )
  }
}
