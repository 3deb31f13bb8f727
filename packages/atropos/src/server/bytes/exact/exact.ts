import { coerceFloat, coerceInteger, type Coerced } from "../json/coerce.ts"
import { nextEntry, skipScalar, skipValue } from "../json/json-walk.ts"
import { describeInput, maxProblems, type Problem, type ProblemType } from "../json/problems.ts"
import type { ByteWriter } from "./byte-writer.ts"

/** Where a value stands in the text. */
export interface Range {
  start: number
  end: number
}

/** The text being read, the canonical text being written, and what is wrong with the value by place. */
export class Exact {
  readonly bytes: Uint8Array
  readonly out: ByteWriter
  problems: Problem[] = []
  readonly path: (string | number)[]

  constructor(bytes: Uint8Array, out: ByteWriter, path: readonly (string | number)[]) {
    this.bytes = bytes
    this.out = out
    this.path = [...path]
  }

  /** Enough faults are known to stop looking. */
  get full(): boolean {
    return this.problems.length >= maxProblems
  }

  report(type: ProblemType, msg: string, value: Range | null, below: readonly (string | number)[] = []): void {
    if (this.full) return
    const input = value === null ? "null" : describeInput(this.bytes, value.start, value.end)
    this.problems.push({ type, loc: [...this.path, ...below], msg, input })
  }

  /** Reports the value at `start` and goes behind it. */
  refuse(start: number, type: ProblemType, msg: string): number {
    const end = skipValue(this.bytes, start)
    this.report(type, msg, { start, end })
    return end
  }
}

/** Writes a list whose entries are written by `entry`; it gets each one's place and gives the position behind it. */
export function writeList(exact: Exact, start: number, entry: (position: number) => number): number {
  const { bytes, out, path } = exact
  if (bytes[start] !== 0x5b) return exact.refuse(start, "list_type", "Input should be a valid list")
  out.byte(0x5b)
  let position = start + 1
  path.push(0)
  for (let index = 0; ; index += 1) {
    const next = nextEntry(bytes, position)
    if (next < 0) break
    if (index > 0) out.byte(0x2c)
    path[path.length - 1] = index
    position = entry(next)
  }
  path.pop()
  out.byte(0x5d)
  return closeOf(bytes, position)
}

/** From behind the last entry of a container: the position behind its bracket. */
export function closeOf(bytes: Uint8Array, position: number): number {
  while (bytes[position] !== 0x5d && bytes[position] !== 0x7d) position += 1
  return position + 1
}

export function writeInteger(exact: Exact, start: number): number {
  const { bytes } = exact
  if (bytes[start] === 0x22 || bytes[start] === 0x5b || bytes[start] === 0x7b)
    return writeOddScalar(exact, start, coerceInteger)
  const end = skipScalar(bytes, start)
  if (isPlainInteger(bytes, start, end)) exact.out.copy(bytes, start, end)
  else writeOddScalar(exact, start, coerceInteger)
  return end
}

export function writeFloat(exact: Exact, start: number): number {
  const { bytes } = exact
  if (bytes[start] === 0x22 || bytes[start] === 0x5b || bytes[start] === 0x7b)
    return writeOddScalar(exact, start, coerceFloat)
  const end = skipScalar(bytes, start)
  if (isPlainFloat(bytes, start, end)) exact.out.copy(bytes, start, end)
  else writeOddScalar(exact, start, coerceFloat)
  return end
}

type Coerce = (bytes: Uint8Array, start: number, end: number) => Coerced

function writeOddScalar(exact: Exact, start: number, coerce: Coerce): number {
  const end = skipValue(exact.bytes, start)
  const result = coerce(exact.bytes, start, end)
  if (result.ok) exact.out.ascii(result.text)
  else exact.report(result.type, result.msg, { start, end })
  return end
}

/** Digits, perhaps behind a minus; anything that could need a second look is not plain. */
function isPlainInteger(bytes: Uint8Array, start: number, end: number): boolean {
  let position = start
  if (bytes[position] === 0x2d) {
    position += 1
    if (bytes[position] === 0x30) return false
  }
  for (; position < end; position += 1) {
    const byte = bytes[position] ?? 0
    if (byte < 0x30 || byte > 0x39) return false
  }
  return true
}

/** Digits, a point, digits, and short enough to be finite. */
function isPlainFloat(bytes: Uint8Array, start: number, end: number): boolean {
  let points = 0
  if (end - start > 32) return false
  for (let position = bytes[start] === 0x2d ? start + 1 : start; position < end; position += 1) {
    const byte = bytes[position] ?? 0
    if (byte === 0x2e) points += 1
    else if (byte < 0x30 || byte > 0x39) return false
  }
  return points === 1
}
