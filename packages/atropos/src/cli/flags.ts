import { z } from "zod"

import { AtroposError } from "../runtime/errors.ts"
import { nearest } from "../runtime/nearest.ts"

export interface ParsedFlags {
  values: Record<string, unknown>
  positionals: string[]
  help: boolean
}

/**
 * Reads `--flag value`, `--flag=value`, `--switch` and `--no-switch` against a schema's fields
 * (written kebab-case or snake_case), and checks the result with the schema.
 */
export function parseFlags<Schema extends z.ZodObject>(
  schema: Schema,
  argv: readonly string[],
): { options: z.output<Schema>; positionals: string[] } | { help: true } {
  const raw = readFlags(schema, argv)
  if (raw.help) return { help: true }
  const result = schema.safeParse(raw.values)
  if (result.success) return { options: result.data, positionals: raw.positionals }
  const issue = result.error.issues[0]
  const field = String(issue?.path[0] ?? "")
  throw new AtroposError(
    "bad-option",
    `--${toKebab(field)}: ${issue?.message ?? "not valid"}, received ${JSON.stringify(raw.values[field]) ?? "nothing"}; see --help`,
  )
}

function readFlags(schema: z.ZodObject, argv: readonly string[]): ParsedFlags {
  const parsed: ParsedFlags = { values: {}, positionals: [], help: false }
  for (let index = 0; index < argv.length; index++) {
    const argument = argv[index] ?? ""
    if (argument === "--") {
      parsed.positionals.push(...argv.slice(index + 1))
      break
    }
    if (argument === "--help" || argument === "-h") {
      parsed.help = true
    } else if (!argument.startsWith("--")) {
      parsed.positionals.push(argument)
    } else {
      const equals = argument.indexOf("=")
      const flag = argument.slice(2, equals === -1 ? undefined : equals)
      const field = findField(schema, flag)
      const kind = fieldKind(schema, field.name)
      if (kind === "boolean") {
        const inline = equals === -1 ? undefined : argument.slice(equals + 1)
        const next = argv[index + 1]
        if (inline === undefined && next !== undefined && booleanWords.has(next)) {
          index++
          parsed.values[field.name] = readBoolean(next, flag) !== field.negated
        } else {
          parsed.values[field.name] = (inline === undefined ? true : readBoolean(inline, flag)) !== field.negated
        }
      } else {
        const text = equals === -1 ? argv[++index] : argument.slice(equals + 1)
        if (text === undefined) throw new AtroposError("bad-option", `--${flag} needs a value; see --help`)
        parsed.values[field.name] = kind === "number" ? readNumber(text, flag) : text
      }
    }
  }
  return parsed
}

const booleanWords = new Map([
  ["true", true],
  ["false", false],
  ["1", true],
  ["0", false],
  ["yes", true],
  ["no", false],
  ["on", true],
  ["off", false],
])

function readBoolean(text: string, flag: string): boolean {
  const value = booleanWords.get(text.toLowerCase())
  if (value === undefined) {
    throw new AtroposError("bad-option", `--${flag} takes true or false, received ${JSON.stringify(text)}`)
  }
  return value
}

function readNumber(text: string, flag: string): number {
  const value = Number(text)
  if (text.trim() === "" || Number.isNaN(value)) {
    throw new AtroposError("bad-option", `--${flag} takes a number, received ${JSON.stringify(text)}`)
  }
  return value
}

function findField(schema: z.ZodObject, flag: string): { name: string; negated: boolean } {
  const wanted = toCamel(flag)
  if (wanted in schema.shape) return { name: wanted, negated: false }
  if (flag.startsWith("no-")) {
    const positive = toCamel(flag.slice(3))
    if (positive in schema.shape && fieldKind(schema, positive) === "boolean") return { name: positive, negated: true }
  }
  const near = nearest(flag, Object.keys(schema.shape).map(toKebab))
  throw new AtroposError("bad-option", `unknown flag --${flag}${near === undefined ? "" : `, did you mean --${near}?`}`)
}

function fieldKind(schema: z.ZodObject, name: string): "boolean" | "number" | "string" {
  const type = innermost(schema.shape[name] as z.ZodType)
  if (type instanceof z.ZodBoolean) return "boolean"
  if (type instanceof z.ZodNumber) return "number"
  return "string"
}

function innermost(type: z.ZodType): z.ZodType {
  let current: z.ZodType = type
  while (current instanceof z.ZodOptional || current instanceof z.ZodDefault || current instanceof z.ZodNullable) {
    current = current.unwrap() as z.ZodType
  }
  return current
}

/** The text of `--help`: one line a flag with its description and default. */
export function describeFlags(schema: z.ZodObject): string {
  const rows = Object.entries(schema.shape).map(([name, type]) => {
    const field = type as z.ZodType
    const kind = fieldKind(schema, name)
    const standard = field.safeParse(undefined)
    const fallback = standard.success && standard.data !== undefined ? ` (${JSON.stringify(standard.data)})` : ""
    const inner = innermost(field)
    const choices = inner instanceof z.ZodEnum ? inner.options.join("|") : kind === "boolean" ? "" : kind
    return [`  --${toKebab(name)} ${choices}`.trimEnd(), `${field.description ?? ""}${fallback}`] as const
  })
  const width = Math.min(34, Math.max(0, ...rows.map(([left]) => left.length))) + 2
  return rows.map(([left, right]) => `${left.padEnd(width)}${right}\n`).join("")
}

export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-")
}

function toCamel(flag: string): string {
  return flag.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}
