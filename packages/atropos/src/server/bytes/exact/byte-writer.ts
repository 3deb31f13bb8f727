/** Bytes appended one after another. */
export class ByteWriter {
  private buffer: Uint8Array<ArrayBuffer>
  length = 0

  constructor(capacity: number) {
    this.buffer = new Uint8Array(Math.max(capacity, 64))
  }

  byte(value: number): void {
    if (this.length === this.buffer.length) this.grow(1)
    this.buffer[this.length] = value
    this.length += 1
  }

  /** ASCII text. */
  ascii(text: string): void {
    this.reserve(text.length)
    for (let index = 0; index < text.length; index += 1) this.buffer[this.length + index] = text.charCodeAt(index)
    this.length += text.length
  }

  copy(source: Uint8Array, start: number, end: number): void {
    this.reserve(end - start)
    if (end - start < 32) {
      let target = this.length
      for (let index = start; index < end; index += 1) {
        this.buffer[target] = source[index] ?? 0
        target += 1
      }
    } else this.buffer.set(source.subarray(start, end), this.length)
    this.length += end - start
  }

  /** What was written from `start` on, as ASCII text. */
  textFrom(start: number): string {
    return String.fromCharCode(...this.buffer.subarray(start, this.length))
  }

  /** Puts the written ranges `ranges` in the place of everything from `start` on, with `,` between them. */
  keepRanges(start: number, ranges: readonly { start: number; end: number }[]): void {
    const kept = ranges.map((range) => this.buffer.slice(range.start, range.end))
    this.length = start
    for (const [index, part] of kept.entries()) {
      if (index > 0) this.byte(0x2c)
      this.copy(part, 0, part.length)
    }
  }

  /** What was written. The writer must not be used afterwards. */
  finish(): Uint8Array<ArrayBuffer> {
    return this.buffer.subarray(0, this.length)
  }

  private reserve(count: number): void {
    if (this.length + count > this.buffer.length) this.grow(count)
  }

  private grow(count: number): void {
    const larger = new Uint8Array(Math.max(this.length + count, Math.ceil(this.buffer.length * 1.5)))
    larger.set(this.buffer.subarray(0, this.length))
    this.buffer = larger
  }
}
