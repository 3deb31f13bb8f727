import { AtroposError } from "../../runtime/errors.ts"

/** One row of a data set: its values by column. */
export type Row = Readonly<Record<string, unknown>>

/** A row as a format's reader gives it, with where it stands for messages: a line, or a number. */
export interface PlacedRow {
  row: Row
  place: string
}

/** A row or file that cannot be read. */
export function brokenData(file: string, place: string | undefined, problem: string, cause?: unknown): AtroposError {
  const where = place === undefined ? file : `${file}, ${place}`
  return new AtroposError("dataset-broken", `${where}: ${problem}`, {
    ...(cause === undefined ? {} : { cause }),
    facts: { file, ...(place === undefined ? {} : { place }) },
  })
}

/** Checks that a value is an object with columns. */
export function asRow(value: unknown, file: string, place: string): Row {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Row
  const found = value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`
  throw brokenData(file, place, `a row must be an object with columns, this is ${found}`)
}
