import type { Completion } from "./reward.ts"

/**
 * The text of a completion: a string; a message of the assistant; an object with such a `message`; or the first message
 * of the assistant in a list. Anything else is empty.
 */
export function contentOf(completion: Completion): string {
  if (typeof completion === "string") return completion
  if (Array.isArray(completion)) {
    const first = completion.find((entry) => isRecord(entry) && entry["role"] === "assistant")
    return first === undefined ? "" : textOf(first)
  }
  if (!isRecord(completion)) return ""
  if (completion["role"] === "assistant") return textOf(completion)
  const { message } = completion
  return isRecord(message) && message["role"] === "assistant" ? textOf(message) : ""
}

/** As `contentOf`, for any object with a content and the first message of a list, whatever their roles. */
export function anyContentOf(completion: Completion): string {
  if (typeof completion === "string") return completion
  if (Array.isArray(completion)) return completion.length === 0 ? "" : anyContentOf(completion[0])
  if (!isRecord(completion)) return ""
  return "content" in completion ? textOf(completion) : anyContentOf(completion["message"] ?? "")
}

/** The content of a message; text parts are joined. */
function textOf(message: unknown): string {
  const content = isRecord(message) ? message["content"] : undefined
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (isRecord(part) && typeof part["text"] === "string" ? part["text"] : "")).join("")
}

/** A wanted answer as text: a text, a number, a message; undefined when there is none. */
export function solutionText(solution: unknown): string | undefined {
  if (solution === undefined || solution === null) return undefined
  if (typeof solution === "string") return solution
  if (typeof solution === "number" || typeof solution === "bigint" || typeof solution === "boolean") {
    return String(solution)
  }
  return contentOf(solution)
}

/** The wanted answer of each completion: one for all, or a list with one each (undefined where the list is too short). */
export function solutionsFor(solution: unknown, count: number): (string | undefined)[] {
  if (Array.isArray(solution) && !solution.every((entry) => isRecord(entry) && "role" in entry)) {
    return Array.from({ length: count }, (_, index) => solutionText(solution[index]))
  }
  const text = solutionText(solution)
  return Array.from({ length: count }, () => text)
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
