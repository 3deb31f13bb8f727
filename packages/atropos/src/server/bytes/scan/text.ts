import { maxDigits, maxExponentDigits } from "../codec.ts"

/**
 * The text under a scanner, and the canonical JSON that grows from it. The scanning functions give the position behind
 * what they took, or 0 to leave the whole text to the exact path; the text starts at 1, so that 0 is no position.
 */
export class Text {
  input: Uint8Array
  output: Uint8Array
  /** Where the next byte of output goes. */
  out = 0
  /** Whether the number that `numberEnd` went over last has a fraction or an exponent. */
  isFloat = false

  constructor(input: Uint8Array, output: Uint8Array) {
    this.input = input
    this.output = output
  }

  put(byte: number): void {
    this.output[this.out] = byte
    this.out += 1
  }

  /** Copies the input from `start` to `end`. */
  copy(start: number, end: number): void {
    const { input, output } = this
    let out = this.out
    if (end - start > 64) output.set(input.subarray(start, end), out)
    else {
      for (let position = start; position < end; position += 1) {
        output[out] = input[position] ?? 0
        out += 1
      }
    }
    this.out += end - start
  }

  skipSpace(position: number): number {
    for (;;) {
      const byte = this.input[position]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return position
      position += 1
    }
  }

  /** Whether the ASCII `word` stands at `position`. */
  hasWord(position: number, word: string): boolean {
    for (let index = 0; index < word.length; index += 1) {
      if (this.input[position + index] !== word.charCodeAt(index)) return false
    }
    return true
  }

  /** The position behind the number that starts here, or 0 when it is none, or is one that needs a second look. */
  numberEnd(position: number): number {
    const { input } = this
    if (input[position] === 0x2d) position += 1
    const first = position
    if (input[first] === 0x30) position += 1
    else position = this.digitsEnd(position)
    if (position === first || position - first > maxDigits) return 0
    this.isFloat = false
    if (input[position] === 0x2e) {
      const fraction = position + 1
      position = this.digitsEnd(fraction)
      if (position === fraction || position - fraction > maxDigits) return 0
      this.isFloat = true
    }
    if (((input[position] ?? 0) | 0x20) === 0x65) {
      let exponent = position + 1
      if (input[exponent] === 0x2d || input[exponent] === 0x2b) exponent += 1
      position = this.digitsEnd(exponent)
      if (position === exponent || position - exponent > maxExponentDigits) return 0
      this.isFloat = true
    }
    return position
  }

  private digitsEnd(position: number): number {
    for (;;) {
      const byte = this.input[position] ?? 0
      if (byte < 0x30 || byte > 0x39) return position
      position += 1
    }
  }
}
