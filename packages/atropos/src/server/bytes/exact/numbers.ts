import { type Exact, writeFloat, writeInteger, writeList } from "./exact.ts"

/** The lengths of a list of numbers: of a flat one only `rows`; of deeper ones also how long each row is. */
export interface Shape {
  rows: number
  positions: number[]
}

/** Writes lists of numbers, `depth` lists deep, and notes their lengths in `shape`. */
export function writeNumbers(
  exact: Exact,
  start: number,
  of: "integer" | "float",
  depth: number,
  shape: Shape,
): number {
  const writeNumber = of === "integer" ? writeInteger : writeFloat
  const writeRow = (position: number, level: number): number => {
    let count = 0
    const end = writeList(exact, position, (entry) => {
      count += 1
      return level === depth ? writeNumber(exact, entry) : writeRow(entry, level + 1)
    })
    if (level === 1) shape.rows = count
    if (level === 2) shape.positions.push(count)
    return end
  }
  return writeRow(start, 1)
}
