import { readPythonLiteral } from "./python-calls.ts"
import { scanJson } from "./scan.ts"
import type { FunctionTool } from "./tool-call.ts"

/**
 * The JSON text of a value that a format without JSON spells as plain text, by the type in the tool's schema:
 * a string stays a string (`007`); what does not fit its type is a string as well. Lists and objects may be Python's,
 * since templates print them so.
 * Without a schema, text that is JSON is taken as that.
 */
export function readTypedValue(text: string, tool: string, parameter: string, tools: readonly FunctionTool[]): string {
  const types = parameterTypes(tool, parameter, tools)
  const trimmed = text.trim()
  if (types.has("null") && (trimmed === "null" || trimmed === "None")) return "null"
  if (types.has("string")) return JSON.stringify(text)
  if (types.size === 0) return isJson(trimmed) ? trimmed : JSON.stringify(text)
  if (types.has("boolean") && /^(?:true|false)$/i.test(trimmed)) return trimmed.toLowerCase()
  if ((types.has("integer") || types.has("number")) && isJson(trimmed) && /^[-\d]/.test(trimmed)) return trimmed
  const isContainer =
    (types.has("object") && trimmed.startsWith("{")) || (types.has("array") && trimmed.startsWith("["))
  if (isContainer) return isJson(trimmed) ? trimmed : (readPythonLiteral(trimmed) ?? JSON.stringify(text))
  return JSON.stringify(text)
}

/** How such a format writes a JSON value: strings as they are, the rest as JSON. */
export function writeTypedValue(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value)
}

export function isJson(text: string): boolean {
  // The space ends a number.
  return text !== "" && scanJson(`${text} `, 0) === text.length
}

function parameterTypes(tool: string, parameter: string, tools: readonly FunctionTool[]): Set<string> {
  const schema = tools.find((candidate) => candidate.function.name === tool)?.function.parameters
  const types = new Set<string>()
  collectTypes(property(property(schema, "properties"), parameter), types, 0)
  return types
}

function collectTypes(schema: unknown, types: Set<string>, depth: number): void {
  if (depth > 8) return
  const type = property(schema, "type")
  for (const one of Array.isArray(type) ? type : [type]) if (typeof one === "string") types.add(one)
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const parts = property(schema, key)
    if (Array.isArray(parts)) for (const part of parts) collectTypes(part, types, depth + 1)
  }
  const choices = property(schema, "enum")
  if (type === undefined && Array.isArray(choices)) {
    for (const choice of choices) types.add(choice === null ? "null" : Array.isArray(choice) ? "array" : typeof choice)
  }
}

function property(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined
}
