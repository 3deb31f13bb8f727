// Deflate's Huffman codes from weights: computed once a thread, for tables that never change.

/** Code lengths of at most `maxBits` for symbols of these weights; weight 0 has none. */
export function codeLengths(weights: readonly number[], maxBits: number): number[] {
  // Huffman's algorithm with two queues; each node holds its symbols, which is plenty for tables made once.
  const leaves = weights
    .map((weight, symbol) => ({ weight, symbols: [symbol] }))
    .filter(({ weight }) => weight > 0)
    .toSorted((a, b) => a.weight - b.weight)
  const lengths = weights.map(() => 0)
  const merged: typeof leaves = []
  const takeLightest = (): (typeof leaves)[number] | undefined =>
    merged[0] === undefined || (leaves[0] !== undefined && leaves[0].weight <= merged[0].weight)
      ? leaves.shift()
      : merged.shift()
  for (;;) {
    const a = takeLightest()
    const b = takeLightest()
    if (a === undefined || b === undefined) break
    const symbols = [...a.symbols, ...b.symbols]
    for (const symbol of symbols) lengths[symbol] = (lengths[symbol] ?? 0) + 1
    merged.push({ weight: a.weight + b.weight, symbols })
  }
  return limitLengths(lengths, weights, maxBits)
}

/** Shortens what is too long, then lengthens the lightest of the others until the code is possible again. */
function limitLengths(lengths: readonly number[], weights: readonly number[], maxBits: number): number[] {
  const limited = lengths.map((length) => Math.min(length, maxBits))
  const used = limited.map((_, symbol) => symbol).filter((symbol) => (limited[symbol] ?? 0) > 0)
  const lightestFirst = used.toSorted((a, b) => (weights[a] ?? 0) - (weights[b] ?? 0))
  // In units of the shortest piece of code space there is.
  const sizeOf = (symbol: number): number => 2 ** (maxBits - (limited[symbol] ?? 0))
  let free = 2 ** maxBits - used.reduce((sum, symbol) => sum + sizeOf(symbol), 0)
  while (free < 0) {
    const symbol = lightestFirst.find((candidate) => (limited[candidate] ?? 0) < maxBits)
    if (symbol === undefined) throw new RangeError(`${used.length} symbols do not fit into codes of ${maxBits} bits`)
    limited[symbol] = (limited[symbol] ?? 0) + 1
    free += sizeOf(symbol)
  }
  for (const symbol of lightestFirst.toReversed()) {
    // Deflate wants the code space filled exactly, and what is left over makes common codes shorter.
    while (free >= sizeOf(symbol)) {
      free -= sizeOf(symbol)
      limited[symbol] = (limited[symbol] ?? 0) - 1
    }
  }
  return limited
}

/** The codes, with their bits in the order in which deflate sends them. */
export function canonicalCodes(lengths: readonly number[]): number[] {
  const maxBits = Math.max(...lengths)
  const codes = lengths.map(() => 0)
  let code = 0
  for (let bits = 1; bits <= maxBits; bits += 1) {
    for (const [symbol, length] of lengths.entries()) {
      if (length !== bits) continue
      codes[symbol] = reverseBits(code, bits)
      code += 1
    }
    code *= 2
  }
  return codes
}

function reverseBits(code: number, bits: number): number {
  let reversed = 0
  for (let bit = 0; bit < bits; bit += 1) reversed = reversed * 2 + (Math.floor(code / 2 ** bit) % 2)
  return reversed
}

/** Bits in deflate's order: the first is the lowest of the first byte. */
export class BitWriter {
  readonly bytes: number[] = []
  length = 0

  write(value: number, bits: number): void {
    for (let bit = 0; bit < bits; bit += 1) {
      if (this.length % 8 === 0) this.bytes.push(0)
      const last = this.bytes.length - 1
      if (Math.floor(value / 2 ** bit) % 2 === 1) {
        this.bytes[last] = (this.bytes[last] ?? 0) | (1 << (this.length % 8))
      }
      this.length += 1
    }
  }
}

/** The order in which deflate sends the lengths of the code for code lengths. */
const lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

/** The start of a block, not the last one, with codes of its own. */
export function blockHeader(literals: readonly number[], distances: readonly number[]): BitWriter {
  const runs = runLengths([...literals, ...distances])
  const weights = Array.from({ length: 19 }, () => 0)
  for (const { symbol } of runs) weights[symbol] = (weights[symbol] ?? 0) + 1
  const lengths = codeLengths(weights, 7)
  const codes = canonicalCodes(lengths)
  const sent = lengthOrder.findLastIndex((symbol) => (lengths[symbol] ?? 0) > 0) + 1

  const header = new BitWriter()
  header.write(0, 1)
  header.write(2, 2)
  header.write(literals.length - 257, 5)
  header.write(distances.length - 1, 5)
  header.write(sent - 4, 4)
  for (const symbol of lengthOrder.slice(0, sent)) header.write(lengths[symbol] ?? 0, 3)
  for (const { symbol, extra, extraBits } of runs) {
    header.write(codes[symbol] ?? 0, lengths[symbol] ?? 0)
    header.write(extra, extraBits)
  }
  return header
}

interface LengthRun {
  symbol: number
  extra: number
  extraBits: number
}

/** Code lengths with repetitions: 16 the last one 3 to 6 times, 17 and 18 zeros 3 to 10 and 11 to 138 times. */
function runLengths(lengths: readonly number[]): LengthRun[] {
  const runs: LengthRun[] = []
  for (let at = 0; at < lengths.length;) {
    const length = lengths[at] ?? 0
    let count = 1
    while (at + count < lengths.length && lengths[at + count] === length) count += 1
    at += count
    if (length !== 0) {
      runs.push({ symbol: length, extra: 0, extraBits: 0 })
      count -= 1
    }
    while (count >= 3) {
      const most = length === 0 ? 138 : 6
      const taken = Math.min(count, most)
      if (length !== 0) runs.push({ symbol: 16, extra: taken - 3, extraBits: 2 })
      else if (taken <= 10) runs.push({ symbol: 17, extra: taken - 3, extraBits: 3 })
      else runs.push({ symbol: 18, extra: taken - 11, extraBits: 7 })
      count -= taken
    }
    for (; count > 0; count -= 1) runs.push({ symbol: length, extra: 0, extraBits: 0 })
  }
  return runs
}
