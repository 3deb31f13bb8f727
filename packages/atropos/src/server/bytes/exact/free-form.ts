import { finiteNumber, unpairedSurrogate } from "../json/coerce.ts"
import { nextEntry, readString, readText, skipColon, skipScalar, skipString } from "../json/json-walk.ts"
import { closeOf, type Exact, type Range, writeList } from "./exact.ts"

/** Writes any value with its content as it came: only white space and repeated keys go. */
export function writeAny(exact: Exact, start: number): number {
  const { bytes, out } = exact
  const first = bytes[start]
  if (first === 0x5b) return writeList(exact, start, (entry) => writeAny(exact, entry))
  if (first === 0x7b) return writeObject(exact, start).end
  const end = first === 0x22 ? skipString(bytes, start) : skipScalar(bytes, start)
  if (first === 0x22) {
    if (hasUnpairedSurrogate(bytes, start, end)) {
      exact.report(unpairedSurrogate.type, unpairedSurrogate.msg, { start, end })
    }
  } else if (isNotFinite(bytes, start, end)) exact.report(finiteNumber.type, finiteNumber.msg, { start, end })
  out.copy(bytes, start, end)
  return end
}

/** Writes the object at `start`; the members' places in the text come back for who has to look at some. */
export function writeObject(exact: Exact, start: number): { end: number; members: Map<string, Range> } {
  const { bytes, out, path } = exact
  const members = new Map<string, Range>()
  const written = new Map<string, Range>()
  const outStart = out.length + 1
  let repeated = false
  let position = start + 1
  out.byte(0x7b)
  for (;;) {
    const keyStart = nextEntry(bytes, position)
    if (keyStart < 0) break
    const keyEnd = skipString(bytes, keyStart)
    const key = readString(bytes, keyStart, keyEnd)
    if (written.delete(key)) {
      repeated = true
      members.delete(key)
      forgetProblems(exact, key)
    }
    if (out.length > outStart) out.byte(0x2c)
    const memberStart = out.length
    path.push(key.toWellFormed())
    if (!key.isWellFormed()) {
      exact.report(unpairedSurrogate.type, unpairedSurrogate.msg, { start: keyStart, end: keyEnd })
    }
    out.copy(bytes, keyStart, keyEnd)
    out.byte(0x3a)
    const valueStart = skipColon(bytes, keyEnd)
    position = writeAny(exact, valueStart)
    path.pop()
    members.set(key, { start: valueStart, end: position })
    written.set(key, { start: memberStart, end: out.length })
  }
  if (repeated) out.keepRanges(outStart, [...written.values()])
  out.byte(0x7d)
  return { end: closeOf(bytes, position), members }
}

/** What was wrong with the earlier value of a repeated key does not count. */
function forgetProblems(exact: Exact, key: string): void {
  const loc = [...exact.path, key.toWellFormed()]
  exact.problems = exact.problems.filter((problem) => !loc.every((part, index) => problem.loc[index] === part))
}

function hasUnpairedSurrogate(bytes: Uint8Array, start: number, end: number): boolean {
  // Raw UTF-8 holds none, so only \ud800 to \udfff can; few strings have any.
  for (let position = start; position < end; position += 1) {
    if (bytes[position] !== 0x5c) continue
    position += 1
    if (bytes[position] === 0x75 && ((bytes[position + 1] ?? 0) | 0x20) === 0x64) {
      return !readString(bytes, start, end).isWellFormed()
    }
  }
  return false
}

function isNotFinite(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start]
  if (first === 0x74 || first === 0x66 || first === 0x6e) return false
  // An integer in a free-form value stays what it is, at any size; only floats can leave the range.
  const text = readText(bytes, start, end)
  return !/^-?\d+$/.test(text) && !Number.isFinite(Number(text))
}
