// Deflate without a search for matches: literals by fixed codes, one set for lists of numbers and one for text, and
// copies only where a short pattern runs on, as masks and logprobs of a prompt do.
import { isDigit, COMMA } from "./characters"
import { CODES_SIZE, CODE_TABLES, HEADERS, PAIRS, SINGLES } from "./layout"

/** The text is looked at in pieces of this many bytes, to choose the codes. */
const PIECE: usize = 32_768
const COPY: usize = 258

let to: usize = 0
let pending: u64 = 0
let pendingBits: u64 = 0

// @ts-ignore: decorators are AssemblyScript's
@inline
function write(code: u64, length: u64): void {
  pending |= code << pendingBits
  pendingBits += length
  store<u64>(to, pending)
  to += <usize>(pendingBits >> 3)
  pending >>= pendingBits & 56
  pendingBits &= 7
}

/** Encodes `length` bytes as blocks that end on a byte boundary, none of them the last; where they end. */
export function encode(from: usize, length: usize, target: usize): usize {
  to = target
  pending = 0
  pendingBits = 0
  const start = from
  const end = from + length
  let table: usize = 0
  while (from < end) {
    const pieceEnd = min(from + PIECE, end)
    const wanted = CODE_TABLES + (isMostlyNumbers(from, pieceEnd) ? 0 : CODES_SIZE)
    if (wanted != table) {
      if (table != 0) writeSymbol(table, 256)
      table = wanted
      writeHeader(table)
    }
    encodePiece(table, start, from, pieceEnd)
    from = pieceEnd
  }
  if (table != 0) writeSymbol(table, 256)
  // An empty stored block: its three bits, zeros up to the byte, and its length.
  write(0, 3)
  if (pendingBits > 0) write(0, 8 - pendingBits)
  store<u32>(to, 0xffff0000)
  return to + 4
}

function isMostlyNumbers(from: usize, end: usize): bool {
  let sampled: u32 = 0
  let numeric: u32 = 0
  for (; from < end; from += 37) {
    const byte = load<u8>(from)
    sampled++
    if (isDigit(byte) || byte == COMMA) numeric++
  }
  return numeric * 10 >= sampled * 7
}

function writeHeader(table: usize): void {
  let from = table + HEADERS
  let bits = load<u32>(from)
  from += 4
  while (bits >= 32) {
    write(load<u32>(from), 32)
    from += 4
    bits -= 32
  }
  write(load<u32>(from), bits)
}

function writeSymbol(table: usize, symbol: usize): void {
  const entry = <u64>load<u32>(table + SINGLES + (symbol << 2))
  write(entry & 0x3ffffff, entry >> 26)
}

// @ts-ignore
@inline
function pairOf(table: usize, pair: u64): u64 {
  return <u64>load<u32>(table + PAIRS + (<usize>(pair & 0xffff) << 2))
}

function encodePiece(table: usize, start: usize, from: usize, end: usize): void {
  // Locals: globals live in memory, and every step waits for the one before.
  let target = to
  let hold = pending
  let held = pendingBits
  while (from + 8 <= end) {
    const word = load<u64>(from)
    if (word == load<u64>(from - 5) || word == load<u64>(from - 4)) {
      const distance: usize = word == load<u64>(from - 5) ? 5 : 4
      const copies = countCopies(distance, start, from, end)
      if (copies > 0) {
        to = target
        pending = hold
        pendingBits = held
        for (let count: usize = 0; count < copies; count++) writeSymbol(table, 281 + distance)
        target = to
        hold = pending
        held = pendingBits
        from += copies * COPY
        continue
      }
    }
    const a = pairOf(table, word)
    const b = pairOf(table, word >> 16)
    const c = pairOf(table, word >> 32)
    const d = pairOf(table, word >> 48)
    const aBits = a >> 26
    const cBits = c >> 26
    const front = (a & 0x3ffffff) | ((b & 0x3ffffff) << aBits)
    const back = (c & 0x3ffffff) | ((d & 0x3ffffff) << cBits)
    const frontBits = aBits + (b >> 26)
    const backBits = cBits + (d >> 26)
    hold |= front << held
    held += frontBits
    if (held + backBits > 63) {
      store<u64>(target, hold)
      target += <usize>(held >> 3)
      hold >>= held & 56
      held &= 7
    }
    hold |= back << held
    held += backBits
    store<u64>(target, hold)
    target += <usize>(held >> 3)
    hold >>= held & 56
    held &= 7
    from += 8
  }
  to = target
  pending = hold
  pendingBits = held
  while (from < end) {
    writeSymbol(table, load<u8>(from))
    from++
  }
}

/** How many copies of the pattern that ends at `from` come. */
function countCopies(distance: usize, start: usize, from: usize, end: usize): usize {
  if (from - start < distance) return 0
  let same: usize = 8
  while (from + same + 8 <= end && load<u64>(from + same) == load<u64>(from + same - distance)) same += 8
  return same / COPY
}
