import type { FastifyRequest } from "fastify"
import { z } from "zod"

import { coerceFloat, coerceInteger, type Coerced, unpairedSurrogate } from "../bytes/json/coerce.ts"
import { skipSpace } from "../bytes/json/json-check.ts"
import { readMembers, readString, skipValue } from "../bytes/json/json-walk.ts"
import { describeInput, type Problem } from "../bytes/json/problems.ts"

type Place = readonly (string | number)[]

/** What a field comes to: an integer as its digits, at any size. */
type WireValue<Field> = Field extends z.ZodInt
  ? string
  : Field extends z.ZodNumber
    ? number
    : Field extends z.ZodString
      ? string
      : Field extends z.ZodOptional<infer Inner> | z.ZodNullable<infer Inner>
        ? WireValue<Inner> | null
        : never

export type WireValues<Schema extends z.ZodObject> = {
  [Name in keyof Schema["shape"]]: WireValue<Schema["shape"][Name]>
}

export type Checked<Schema extends z.ZodObject> =
  | { ok: true; values: WireValues<Schema> }
  | { ok: false; problems: Problem[] }

/**
 * Reads the fields of a schema from an object, taking what the Python server takes (`"8"` and `8.0` are 8). The bytes
 * are well-formed JSON.
 */
export function checkBody<Schema extends z.ZodObject>(schema: Schema, bytes: Uint8Array): Checked<Schema> {
  const start = skipSpace(bytes, 0)
  const end = skipValue(bytes, start)
  if (bytes[start] !== 0x7b) {
    const msg = "Input should be a valid dictionary or object to extract fields from"
    return {
      ok: false,
      problems: [{ type: "model_attributes_type", loc: ["body"], msg, input: describeInput(bytes, start, end) }],
    }
  }
  const members = readMembers(bytes, start)
  const problems: Problem[] = []
  const values: Record<string, string | number | null> = {}
  for (const [name, type] of Object.entries(schema.shape)) {
    const member = members.get(name)
    const field = innermost(type as z.ZodType)
    if (member === undefined && field.optional) values[name] = null
    else if (member === undefined) {
      problems.push({
        type: "missing",
        loc: ["body", name],
        msg: "Field required",
        input: describeInput(bytes, start, end),
      })
    } else if (field.optional && bytes[member.start] === 0x6e) values[name] = null
    else values[name] = readField(field.type, bytes, member, ["body", name], problems)
  }
  // The loop has set every field of the shape, each as its type says.
  return problems.length > 0 ? { ok: false, problems } : { ok: true, values: values as WireValues<Schema> }
}

/** A query parameter's text; of one that comes twice the last counts. */
export function readParameter(request: FastifyRequest, name: string): string | undefined {
  const given = (request.query as Record<string, string | string[] | undefined>)[name]
  return Array.isArray(given) ? given.at(-1) : given
}

/** Reads a query parameter as a field of a body that came as a string. */
export function checkParameter<Field extends z.ZodNumber>(
  field: Field,
  name: string,
  text: string,
): { ok: true; value: WireValue<Field> } | { ok: false; problems: Problem[] } {
  const bytes = Buffer.from(JSON.stringify(text))
  const problems: Problem[] = []
  const value = readField(field, bytes, { start: 0, end: bytes.length }, ["query", name], problems)
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: value as WireValue<Field> }
}

function readField(
  type: z.ZodType,
  bytes: Uint8Array,
  { start, end }: { start: number; end: number },
  loc: Place,
  problems: Problem[],
): string | number | null {
  const input = describeInput(bytes, start, end)
  const read = type instanceof z.ZodString ? coerceString : isInteger(type) ? coerceInteger : coerceNumber
  const result = read(bytes, start, end)
  if (!result.ok) {
    problems.push({ type: result.type, loc, msg: result.msg, input })
    return null
  }
  if (!(type instanceof z.ZodNumber)) return result.text
  const { minValue, maxValue } = type
  const digits = isInteger(type) ? result.text : null
  const value = Number(result.text)
  if (isBound(minValue) && value < minValue) {
    problems.push({
      type: "greater_than_equal",
      loc,
      msg: `Input should be greater than or equal to ${minValue}`,
      input,
    })
  } else if (isBound(maxValue) && value > maxValue) {
    problems.push({ type: "less_than_equal", loc, msg: `Input should be less than or equal to ${maxValue}`, input })
  }
  return digits ?? value
}

function coerceNumber(bytes: Uint8Array, start: number, end: number): Coerced {
  return coerceFloat(bytes, start, end)
}

function coerceString(bytes: Uint8Array, start: number, end: number): Coerced {
  if (bytes[start] !== 0x22) return { ok: false, type: "string_type", msg: "Input should be a valid string" }
  const text = readString(bytes, start, end)
  return text.isWellFormed() ? { ok: true, text } : unpairedSurrogate
}

function isInteger(type: z.ZodType): boolean {
  return type instanceof z.ZodNumber && type.isInt
}

/** Bounds that only say what a double can hold are not meant: our integers have no size. */
function isBound(bound: number | null): bound is number {
  return bound !== null && Math.abs(bound) < Number.MAX_SAFE_INTEGER
}

function innermost(type: z.ZodType): { type: z.ZodType; optional: boolean } {
  let current = type
  let optional = false
  while (current instanceof z.ZodOptional || current instanceof z.ZodNullable) {
    optional = true
    current = current.unwrap() as z.ZodType
  }
  return { type: current, optional }
}
