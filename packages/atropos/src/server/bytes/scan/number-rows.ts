import { maxDigits } from "../codec.ts"
import type { Text } from "./text.ts"

/** How many numbers the row had that was taken last. */
export interface RowLength {
  count: number
}

/** Takes a row of integers from its bracket on. Between numbers may stand a comma with or without a blank. */
export function scanIntegers(text: Text, position: number, row: RowLength): number {
  const { input, output } = text
  let out = text.out
  row.count = 0
  if (input[position] !== 0x5b) return 0
  output[out++] = 0x5b
  position += 1
  if (input[position] === 0x5d) {
    output[out] = 0x5d
    text.out = out + 1
    return position + 1
  }
  let count = 0
  for (;;) {
    let byte = input[position] ?? 0
    if (byte === 0x2d) {
      output[out++] = byte
      position += 1
      byte = input[position] ?? 0
      // `-0` leaves as `0`: for the exact path.
      if (byte === 0x30) return 0
    }
    if (byte < 0x30 || byte > 0x39) return 0
    output[out++] = byte
    position += 1
    if (byte === 0x30) byte = input[position] ?? 0
    else {
      const last = position + maxDigits - 1
      for (;;) {
        byte = input[position] ?? 0
        if (byte < 0x30 || byte > 0x39) break
        if (position === last) return 0
        output[out++] = byte
        position += 1
      }
    }
    count += 1
    output[out++] = byte
    position += 1
    if (byte === 0x2c) {
      if (input[position] === 0x20) position += 1
      continue
    }
    if (byte !== 0x5d) return 0
    row.count = count
    text.out = out
    return position
  }
}

/** As `scanIntegers`, for numbers that leave as floats. */
export function scanFloats(text: Text, position: number, row: RowLength): number {
  const { input, output } = text
  row.count = 0
  if (input[position] !== 0x5b) return 0
  let out = text.out
  output[out++] = 0x5b
  position += 1
  if (input[position] === 0x5d) {
    output[out] = 0x5d
    text.out = out + 1
    return position + 1
  }
  let count = 0
  for (;;) {
    const end = text.numberEnd(position)
    if (end === 0) return 0
    if (!text.isFloat && input[position] === 0x2d && input[position + 1] === 0x30) return 0
    while (position < end) output[out++] = input[position++] ?? 0
    if (!text.isFloat) {
      output[out++] = 0x2e
      output[out++] = 0x30
    }
    count += 1
    const byte = input[position] ?? 0
    output[out++] = byte
    position += 1
    if (byte === 0x2c) {
      if (input[position] === 0x20) position += 1
      continue
    }
    if (byte !== 0x5d) return 0
    row.count = count
    text.out = out
    return position
  }
}
