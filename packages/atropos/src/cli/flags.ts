import { z } from "zod"

import { AtroposError } from "../runtime/errors.ts"
import { toSnake } from "../environment/config/keys.ts"
import { nearest } from "../runtime/nearest.ts"
import { booleanWords, innermost, readValue, typeName } from "./read-value.ts"

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
      const { name, negated } = findField(schema, flag)
      const field = schema.shape[name] as z.ZodType
      const next = argv[index + 1]
      const inline = equals === -1 ? undefined : argument.slice(equals + 1)
      const isSwitch = innermost(field) instanceof z.ZodBoolean
      // A switch takes the word after it only when that is a truth value.
      const takesNext =
        inline === undefined && next !== undefined && (!isSwitch || booleanWords.has(next.toLowerCase()))
      if (takesNext) index++
      const text = inline ?? (takesNext ? next : isSwitch ? "true" : undefined)
      if (text === undefined) throw new AtroposError("bad-option", `--${flag} needs a value; see --help`)
      const read = readValue(field, text, "flag")
      if (!read.ok) {
        throw new AtroposError("bad-option", `--${flag} ${read.message}, received ${JSON.stringify(text)}; see --help`)
      }
      parsed.values[name] = negated ? read.value !== true : read.value
    }
  }
  return parsed
}

function findField(schema: z.ZodObject, flag: string): { name: string; negated: boolean } {
  const names = new Map(Object.keys(schema.shape).map((name) => [toSnake(name), name]))
  const name = names.get(toSnake(flag))
  if (name !== undefined) return { name, negated: false }
  const positive = flag.startsWith("no-") ? names.get(toSnake(flag.slice(3))) : undefined
  if (positive !== undefined && innermost(schema.shape[positive] as z.ZodType) instanceof z.ZodBoolean) {
    return { name: positive, negated: true }
  }
  const near = nearest(flag, Object.keys(schema.shape).map(toKebab))
  throw new AtroposError("bad-option", `unknown flag --${flag}${near === undefined ? "" : `, did you mean --${near}?`}`)
}

/** The text of `--help`: one line a flag with its description and default. */
export function describeFlags(schema: z.ZodObject): string {
  const rows = Object.entries(schema.shape).map(([name, type]) => {
    const field = type as z.ZodType
    const standard = field.safeParse(undefined)
    const fallback = standard.success && standard.data !== undefined ? ` (${JSON.stringify(standard.data)})` : ""
    const kind = typeName(field)
    const choices = kind === "bool" ? "" : kind
    return [`  --${toKebab(name)} ${choices}`.trimEnd(), `${field.description ?? ""}${fallback}`] as const
  })
  const width = Math.min(34, Math.max(0, ...rows.map(([left]) => left.length))) + 2
  // What is wider than the column has its description on the next line.
  return rows
    .map(([left, right]) => `${left.length < width ? left.padEnd(width) : `${left}\n${" ".repeat(width)}`}${right}\n`)
    .join("")
}

export function toKebab(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll("_", "-")
}
