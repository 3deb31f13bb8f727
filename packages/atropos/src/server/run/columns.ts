// Columns of whole numbers as text: differences from the value before, in as few bytes as they need, in base64.
// A snapshot of a million groups is so a fifth of what plain columns would be.

/** Bytes that the largest difference needs. */
const longest = 8

/** Whole numbers up to 2^51 either way. */
export function encodeColumn(values: ArrayLike<number>): string {
  let bytes = new Uint8Array(values.length + 1024)
  let used = 0
  let before = 0
  for (let index = 0; index < values.length; index++) {
    const value = values[index] ?? 0
    const difference = value - before
    before = value
    if (used + longest > bytes.length) {
      const larger = new Uint8Array(bytes.length * 2)
      larger.set(bytes)
      bytes = larger
    }
    // Signs alternate, so that small differences are small either way; beyond 32 bits there are no shifts.
    let rest = difference < 0 ? -2 * difference - 1 : 2 * difference
    while (rest >= 128) {
      bytes[used++] = (rest % 128) + 128
      rest = Math.floor(rest / 128)
    }
    bytes[used++] = rest
  }
  return Buffer.from(bytes.buffer, 0, used).toString("base64")
}

/** What `encodeColumn` made the text of. */
export function decodeColumn(text: string): Float64Array {
  const bytes = Buffer.from(text, "base64")
  const values = new Float64Array(bytes.length)
  let count = 0
  let value = 0
  for (let at = 0; at < bytes.length;) {
    let byte = bytes[at++] ?? 0
    let rest = byte & 127
    for (let factor = 128; byte >= 128; factor *= 128) {
      byte = bytes[at++] ?? 0
      rest += (byte & 127) * factor
    }
    value += rest % 2 === 0 ? rest / 2 : -(rest + 1) / 2
    values[count++] = value
  }
  return values.subarray(0, count)
}
