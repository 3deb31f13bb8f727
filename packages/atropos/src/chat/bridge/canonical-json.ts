import { JsonFloat, type LosslessJson, tryParseLosslessJson } from "../lossless-json.ts"

/**
 * Text that is the same for equal JSON values whatever the order of their keys; keys whose value is null or undefined
 * count as absent. Takes plain and losslessly read values.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || value === undefined) return "null"
  if (typeof value === "string") return JSON.stringify(value)
  if (typeof value === "bigint" || typeof value === "boolean" || typeof value === "number") return String(value)
  if (value instanceof JsonFloat) return String(value.value)
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`
  if (typeof value !== "object") return JSON.stringify(typeof value)
  const entries: [string, unknown][] = value instanceof Map ? [...value.entries()] : Object.entries(value)
  const parts = entries
    .filter(([, field]) => field !== null && field !== undefined)
    .toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, field]) => `${JSON.stringify(key)}:${canonicalJson(field)}`)
  return `{${parts.join()}}`
}

/** The same for the arguments of a call, which are JSON text or a value; text that is no JSON stands for itself. */
export function canonicalArguments(value: string | Readonly<Record<string, unknown>> | LosslessJson): string {
  if (typeof value !== "string") return canonicalJson(value)
  const parsed = tryParseLosslessJson(value)
  return parsed === undefined ? `text ${value}` : canonicalJson(parsed)
}
