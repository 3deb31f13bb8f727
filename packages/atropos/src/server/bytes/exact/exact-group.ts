import { type GroupField, groupFields } from "../group-fields.ts"
import { readMembers } from "../json/json-walk.ts"
import type { Problem } from "../json/problems.ts"
import { ByteWriter } from "./byte-writer.ts"
import { Exact, type Range, writeInteger, writeList } from "./exact.ts"
import { writeAny, writeObject } from "./free-form.ts"
import { writeMessages } from "./messages.ts"
import { type Shape, writeNumbers } from "./numbers.ts"

/** A group that was checked, as canonical JSON: compact, all fourteen keys, floats written as floats. */
export interface CheckedGroup {
  json: Uint8Array
  size: number
  tokens: number
  envId: number | "unknown" | null
}

/**
 * The exact path: takes, converts or refuses the group that starts at `start` of well-formed JSON, as the wire
 * contract says. The fast scanners accept a subset of what this accepts, and make the same bytes of it.
 */
export function checkGroup(
  bytes: Uint8Array,
  start: number,
  end: number,
  path: readonly (string | number)[],
  sequencesPerGroup: number,
): CheckedGroup | Problem[] {
  const exact = new Exact(bytes, new ByteWriter(end - start + 256), path)
  if (bytes[start] !== 0x7b) {
    exact.report("model_attributes_type", "Input should be a valid dictionary or object to extract fields from", {
      start,
      end,
    })
    return exact.problems
  }
  const members = readMembers(bytes, start)
  const shapes = new Map<string, Shape>()
  for (const field of groupFields) {
    if (field.required && !members.has(field.name))
      exact.report("missing", "Field required", { start, end }, [field.name])
  }
  let envId: CheckedGroup["envId"] = null
  for (const [name, value] of members) {
    const field = fieldsByName.get(name)
    if (field === undefined || exact.full) continue
    writeKey(exact.out, name)
    exact.path.push(name)
    const valueStart = exact.out.length
    writeField(exact, field, value, shapes)
    exact.path.pop()
    if (name === "env_id" && exact.problems.length === 0) envId = readEnvId(exact.out.textFrom(valueStart))
  }
  if (exact.problems.length === 0) checkLengths(exact, members, shapes, sequencesPerGroup)
  if (exact.problems.length > 0) return exact.problems
  for (const { name } of groupFields) {
    if (members.has(name)) continue
    writeKey(exact.out, name)
    exact.out.ascii("null")
  }
  exact.out.byte(0x7d)
  const tokens = shapes.get("tokens")
  return {
    json: exact.out.finish(),
    size: tokens?.rows ?? 0,
    tokens: (tokens?.positions ?? []).reduce((sum, length) => sum + length, 0),
    envId,
  }
}

const fieldsByName: ReadonlyMap<string, GroupField> = new Map(groupFields.map((field) => [field.name, field]))

function writeKey(out: ByteWriter, name: string): void {
  out.ascii(out.length === 0 ? `{"${name}":` : `,"${name}":`)
}

function writeField(exact: Exact, field: GroupField, value: Range, shapes: Map<string, Shape>): void {
  const { bytes } = exact
  if (!field.required && bytes[value.start] === 0x6e) {
    exact.out.ascii("null")
    return
  }
  switch (field.is.kind) {
    case "integer":
      writeInteger(exact, value.start)
      return
    case "numbers": {
      const shape: Shape = { rows: 0, positions: [] }
      writeNumbers(exact, value.start, field.is.of, field.is.depth, shape)
      shapes.set(field.name, shape)
      return
    }
    case "messages":
      writeMessages(exact, value.start)
      return
    case "object":
      writeDictionary(exact, value.start)
      return
    case "objects":
      writeList(exact, value.start, (entry) => writeDictionary(exact, entry))
      return
    case "any":
      writeAny(exact, value.start)
      return
  }
}

function writeDictionary(exact: Exact, start: number): number {
  if (exact.bytes[start] !== 0x7b) return exact.refuse(start, "dict_type", "Input should be a valid dictionary")
  return writeObject(exact, start).end
}

/** Everything that runs along the sequences must be as long as `tokens`; an empty optional list means none. */
function checkLengths(
  exact: Exact,
  members: ReadonlyMap<string, Range>,
  shapes: ReadonlyMap<string, Shape>,
  sequencesPerGroup: number,
): void {
  const tokens = shapes.get("tokens")
  if (tokens === undefined) return
  if (tokens.rows === 0) {
    exact.report(
      "too_short",
      "A group needs at least one sequence; do not send empty groups",
      members.get("tokens") ?? null,
      ["tokens"],
    )
    return
  }
  if (tokens.rows > sequencesPerGroup) {
    exact.report(
      "too_long",
      `A group may have at most ${sequencesPerGroup} sequences, this one has ${tokens.rows}; send smaller groups or raise the server's limit on sequences per group`,
      null,
      ["tokens"],
    )
    return
  }
  for (const field of groupFields) {
    const shape = shapes.get(field.name)
    if (shape === undefined || field.is.kind !== "numbers" || (!field.required && shape.rows === 0)) continue
    const value = members.get(field.name) ?? null
    if (shape.rows !== tokens.rows) {
      const msg = `${field.name} has ${shape.rows} entries but tokens has ${tokens.rows} sequences; send one for each sequence`
      exact.report("length_mismatch", msg, value, [field.name])
    } else if (field.is.lengths === "positions") {
      for (let row = 0; row < tokens.rows; row += 1) {
        const length = shape.positions[row] ?? 0
        const expected = tokens.positions[row] ?? 0
        if (length === expected) continue
        const msg = `${field.name}[${row}] has ${length} entries but tokens[${row}] has ${expected}; send one for each token`
        exact.report("length_mismatch", msg, null, [field.name, row])
      }
    }
  }
}

function readEnvId(text: string): CheckedGroup["envId"] {
  if (text === "null") return null
  const id = Number(text)
  return Number.isSafeInteger(id) && id >= 0 ? id : "unknown"
}
