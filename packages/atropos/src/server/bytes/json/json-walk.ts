import { skipSpace } from "./json-check.ts"

// Walking over text that `checkJson` has let through: nothing here looks for syntax errors.

/** The position after the string whose opening quote is at `position`. */
export function skipString(bytes: Uint8Array, position: number): number {
  position += 1
  for (;;) {
    const byte = bytes[position]
    if (byte === 0x22) return position + 1
    position += byte === 0x5c ? 2 : 1
  }
}

/** The position after the value that starts at `position`. */
export function skipValue(bytes: Uint8Array, position: number): number {
  const first = bytes[position]
  if (first === 0x22) return skipString(bytes, position)
  if (first !== 0x5b && first !== 0x7b) return skipScalar(bytes, position)
  let depth = 0
  for (;;) {
    const byte = bytes[position]
    if (byte === 0x22) {
      position = skipString(bytes, position)
      continue
    }
    position += 1
    if (byte === 0x5b || byte === 0x7b) depth += 1
    else if (byte === 0x5d || byte === 0x7d) {
      depth -= 1
      if (depth === 0) return position
    }
  }
}

/** The position after the number or word that starts at `position`. */
export function skipScalar(bytes: Uint8Array, position: number): number {
  for (;;) {
    const byte = bytes[position]
    if (byte === undefined || byte === 0x2c || byte === 0x5d || byte === 0x7d || byte <= 0x20) return position
    position += 1
  }
}

/** From just behind `[` or `{`, or behind an entry: where the next entry starts, or -1 when there is none. */
export function nextEntry(bytes: Uint8Array, position: number): number {
  position = skipSpace(bytes, position)
  if (bytes[position] === 0x2c) position = skipSpace(bytes, position + 1)
  const byte = bytes[position]
  return byte === 0x5d || byte === 0x7d ? -1 : position
}

/** The start of the value whose key ends at `position`. */
export function skipColon(bytes: Uint8Array, position: number): number {
  return skipSpace(bytes, skipSpace(bytes, position) + 1)
}

/** The text of the string from `start` to `end`, quotes included in the range. */
export function readString(bytes: Uint8Array, start: number, end: number): string {
  const text = readText(bytes, start, end)
  // JSON.parse undoes the escapes; without one the text is what stands between the quotes.
  return text.includes("\\") ? String(JSON.parse(text)) : text.slice(1, -1)
}

/** The characters from `start` to `end`. */
export function readText(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8")
}

/** The members of the object that starts at `position`; of a key that comes twice the last one counts. */
export function readMembers(bytes: Uint8Array, position: number): Map<string, { start: number; end: number }> {
  const members = new Map<string, { start: number; end: number }>()
  position += 1
  for (;;) {
    const keyStart = nextEntry(bytes, position)
    if (keyStart < 0) return members
    const keyEnd = skipString(bytes, keyStart)
    const start = skipColon(bytes, keyEnd)
    const end = skipValue(bytes, start)
    const key = readString(bytes, keyStart, keyEnd)
    members.delete(key)
    members.set(key, { start, end })
    position = end
  }
}
