import { INVALID, objectMembers, PARTIAL, scanJson, skipSpace } from "./scan.ts"
import type { ToolCall } from "./tool-call.ts"

/**
 * The call that a JSON object `{"name": …, "arguments": …}` spells, or undefined when it is none.
 * Arguments given as a JSON string are decoded; `parameters` is the same as `arguments`.
 */
export function readCallObject(text: string, at: number, withoutArguments: "empty" | "refused"): ToolCall | undefined {
  const members = objectMembers(text, at)
  const name = members.get("name")
  if (name === undefined || !name.startsWith('"')) return undefined
  const raw = members.get("arguments") ?? members.get("parameters")
  const callArguments = raw === undefined ? (withoutArguments === "empty" ? "{}" : undefined) : readArguments(raw)
  if (callArguments === undefined) return undefined
  const id = members.get("id")
  return {
    name: JSON.parse(name) as string,
    arguments: callArguments,
    ...(id?.startsWith('"') === true ? { id: JSON.parse(id) as string } : {}),
  }
}

/** JSON text of an object, from an object or from a string that holds one. */
function readArguments(raw: string): string | undefined {
  if (raw.startsWith("{")) return raw
  if (!raw.startsWith('"')) return undefined
  const inner = (JSON.parse(raw) as string).trim()
  return inner.startsWith("{") && scanJson(inner, 0) === inner.length ? inner : undefined
}

/** One object that is a call, at `at` (after white space): its call and the place after it. */
export function scanCallObject(
  text: string,
  at: number,
  withoutArguments: "empty" | "refused",
): { call: ToolCall; end: number } | typeof PARTIAL | typeof INVALID {
  const start = skipSpace(text, at)
  if (start === text.length) return PARTIAL
  if (text[start] !== "{") return INVALID
  const end = scanJson(text, start)
  if (end === PARTIAL || end === INVALID) return end
  const call = readCallObject(text, start, withoutArguments)
  return call === undefined ? INVALID : { call, end }
}

/** A list of call objects, which stand or fall together. */
export function scanCallList(
  text: string,
  at: number,
): { calls: ToolCall[]; end: number } | typeof PARTIAL | typeof INVALID {
  const start = skipSpace(text, at)
  if (start === text.length) return PARTIAL
  if (text[start] !== "[") return INVALID
  const end = scanJson(text, start)
  if (end === PARTIAL || end === INVALID) return end
  const calls: ToolCall[] = []
  let index = skipSpace(text, start + 1)
  while (text[index] === "{") {
    const call = readCallObject(text, index, "refused")
    if (call === undefined) return INVALID
    calls.push(call)
    index = skipSpace(text, scanJson(text, index))
    if (text[index] === ",") index = skipSpace(text, index + 1)
  }
  return calls.length > 0 && index === end - 1 ? { calls, end } : INVALID
}

/** How Python's json module spaces a call. */
export function writeCallObject(call: ToolCall, argumentsKey: "arguments" | "parameters"): string {
  return `{"name": ${JSON.stringify(call.name)}, "${argumentsKey}": ${call.arguments}}`
}

export function writeCallList(calls: readonly ToolCall[]): string {
  return `[${calls.map((call) => writeCallObject(call, "arguments")).join(", ")}]`
}
