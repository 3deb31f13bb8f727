// Raw deflate into memory that is known to be large enough. Whatever is odd, be it damage or a code that need not be
// complete, is left to zlib by answering 0; what is taken is checked by its CRC afterwards.
import { CODE_LENGTHS, DISTANCE_TABLE, LITERAL_TABLE, SORTED_SYMBOLS } from "./layout"

// An entry of the literal table stands for what the next bits begin with: a literal or two, or a match's length,
// perhaps with the literal before it, which is how most matches come.
//   bits 0 to 4    bits of its codes and of the length's extra bits
//   bits 5 to 8    bits of its codes alone
//   bit 12         whether there is a literal before the length, or a second literal
//   bits 13 to 20  a literal
//   bits 21 to 29  the length without its extra bits, or the second literal
//   bit 30         LITERALS: there is no length
//   bit 31         ODD: from bit 9 on END, BAD or where a subtable begins, in bits 0 to 4 how many bits choose in it
// An entry of the distance table has the same bits up to 8, and from 9 on one less than the distance without its extra
// bits; or ODD and a subtable as above.
const LITERALS: u32 = 0x4000_0000
const ODD: u32 = 0x8000_0000
const END: u32 = 0
const BAD: u32 = 1
/** Larger than any distance can be. */
const BAD_DISTANCE: u32 = 0x10_0000
const LITERAL_BITS: u32 = 10
const LITERAL_MASK: u64 = (1 << LITERAL_BITS) - 1
const DISTANCE_BITS: u32 = 9
const DISTANCE_MASK: u64 = (1 << DISTANCE_BITS) - 1
const MAX_CODE: u32 = 15

/** Where the input goes on behind the stream, and where the output ends. */
export let inflateInputEnd: usize = 0
export let inflateOutputEnd: usize = 0

/** Inflates one stream; 1 when it was taken. The output may be written 320 bytes beyond its limit. */
export function inflate(from: usize, fromEnd: usize, to: usize, toLimit: usize): u32 {
  const start = to
  let hold: u64 = 0
  let bits: u64 = 0
  while (true) {
    hold |= load<u64>(from) << bits
    from += <usize>((63 - bits) >> 3)
    bits |= 56
    const last = <u32>(hold & 1)
    const kind = <u32>((hold >> 1) & 3)
    hold >>= 3
    bits -= 3
    if (kind == 0) {
      hold >>= bits & 7
      bits &= ~7
      from -= <usize>(bits >> 3)
      const length = <u32>load<u16>(from)
      if ((length ^ 0xffff) != <u32>load<u16>(from, 2)) return 0
      from += 4
      if (from + length > fromEnd || to + length > toLimit) return 0
      memory.copy(to, from, length)
      from += length
      to += length
      hold = 0
      bits = 0
    } else {
      if (kind == 1) {
        if (!buildFixed()) return 0
      } else if (kind == 2) {
        blockInput = from
        blockHold = hold
        blockBits = bits
        if (!readCodes()) return 0
        from = blockInput
        hold = blockHold
        bits = blockBits
      } else return 0
      while (true) {
        if (to > toLimit || from > fromEnd + 8) return 0
        hold |= load<u64>(from) << bits
        from += <usize>((63 - bits) >> 3)
        bits |= 56
        let entry = load<u32>(LITERAL_TABLE + (<usize>(hold & LITERAL_MASK) << 2))
        if ((entry & (LITERALS | ODD)) == LITERALS) {
          store<u16>(to, <u16>(entry >> 13))
          to += 1 + ((entry >> 12) & 1)
          hold >>= <u64>(entry & 31)
          bits -= <u64>(entry & 31)
          // What follows takes at most 10 + 5 + 15 + 13 of the 46 bits that are left.
          entry = load<u32>(LITERAL_TABLE + (<usize>(hold & LITERAL_MASK) << 2))
          if ((entry & (LITERALS | ODD)) != 0) continue
        } else if ((entry & ODD) != 0) {
          if (((entry >> 9) & 0xffff) > BAD) {
            hold >>= LITERAL_BITS
            bits -= LITERAL_BITS
            const choice = <usize>(hold & ((<u64>1 << <u64>(entry & 31)) - 1))
            entry = load<u32>(LITERAL_TABLE + ((<usize>((entry >> 9) & 0xffff) + choice) << 2))
          }
          if ((entry & ODD) != 0) {
            if (((entry >> 9) & 0xffff) == BAD) return 0
            hold >>= <u64>(entry & 31)
            bits -= <u64>(entry & 31)
            break
          }
          if ((entry & LITERALS) != 0) {
            store<u8>(to, <u8>(entry >> 13))
            to++
            hold >>= <u64>(entry & 31)
            bits -= <u64>(entry & 31)
            continue
          }
        }
        store<u8>(to, <u8>(entry >> 13))
        to += (entry >> 12) & 1
        // The extra bits are picked out beside the chain of shifts that the next lookup waits for.
        let all = <u64>(entry & 31)
        const length = <usize>(entry >> 21) + <usize>((hold & ((<u64>1 << all) - 1)) >> <u64>((entry >> 5) & 15))
        hold >>= all
        bits -= all
        entry = load<u32>(DISTANCE_TABLE + (<usize>(hold & DISTANCE_MASK) << 2))
        if ((entry & ODD) != 0) {
          hold >>= DISTANCE_BITS
          bits -= DISTANCE_BITS
          const choice = <usize>(hold & ((<u64>1 << <u64>(entry & 31)) - 1))
          entry = load<u32>(DISTANCE_TABLE + ((<usize>((entry >> 9) & 0xffff) + choice) << 2))
        }
        all = <u64>(entry & 31)
        const distance = <usize>(entry >> 9) + <usize>((hold & ((<u64>1 << all) - 1)) >> <u64>((entry >> 5) & 15)) + 1
        hold >>= all
        bits -= all
        if (distance > to - start) return 0
        let source = to - distance
        const end = to + length
        if (distance >= 16) {
          v128.store(to, v128.load(source))
          while (to + 16 < end) {
            to += 16
            source += 16
            v128.store(to, v128.load(source))
          }
        } else if (distance >= 8) {
          while (to < end) {
            store<u64>(to, load<u64>(source))
            to += 8
            source += 8
          }
        } else {
          // Each eight bytes written make `distance` more of the pattern right.
          while (to < end) {
            store<u64>(to, load<u64>(source))
            to += distance
          }
        }
        to = end
      }
    }
    if (last != 0) break
  }
  from -= <usize>(bits >> 3)
  if (from > fromEnd || to > toLimit) return 0
  inflateInputEnd = from
  inflateOutputEnd = to
  return 1
}

// The bit reader, while codes are read.
let blockInput: usize = 0
let blockHold: u64 = 0
let blockBits: u64 = 0

function take(count: u64): u32 {
  blockHold |= load<u64>(blockInput) << blockBits
  blockInput += <usize>((63 - blockBits) >> 3)
  blockBits |= 56
  const value = <u32>(blockHold & ((<u64>1 << count) - 1))
  blockHold >>= count
  blockBits -= count
  return value
}

/** The order in which the lengths of the code for code lengths come. */
const lengthOrder: StaticArray<u8> = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

/** Reads the codes of a block and builds the tables. */
function readCodes(): bool {
  const literals = take(5) + 257
  const distances = take(5) + 1
  const sent = take(4) + 4
  if (literals > 286 || distances > 30) return false
  memory.fill(CODE_LENGTHS, 0, 19)
  for (let index: u32 = 0; index < sent; index++) {
    store<u8>(CODE_LENGTHS + <usize>unchecked(lengthOrder[index]), <u8>take(3))
  }
  // The distance table is free until the end.
  if (!buildTable(DISTANCE_TABLE, 7, CODE_LENGTHS, 19, KIND_PLAIN)) return false
  const all = literals + distances
  let at: u32 = 0
  let previous: u8 = 0
  while (at < all) {
    take(0)
    const entry = load<u32>(DISTANCE_TABLE + (<usize>(blockHold & 0x7f) << 2))
    take(<u64>(entry & 31))
    const symbol = entry >> 9
    let count: u32 = 1
    if (symbol < 16) previous = <u8>symbol
    else if (symbol == 16) {
      if (at == 0) return false
      count = 3 + take(2)
    } else {
      previous = 0
      count = symbol == 17 ? 3 + take(3) : 11 + take(7)
    }
    if (at + count > all) return false
    memory.fill(CODE_LENGTHS + at, previous, count)
    at += count
  }
  if (load<u8>(CODE_LENGTHS + 256) == 0) return false
  return (
    buildTable(LITERAL_TABLE, LITERAL_BITS, CODE_LENGTHS, literals, KIND_LITERALS) &&
    buildTable(DISTANCE_TABLE, DISTANCE_BITS, CODE_LENGTHS + literals, distances, KIND_DISTANCES)
  )
}

function buildFixed(): bool {
  memory.fill(CODE_LENGTHS, 8, 144)
  memory.fill(CODE_LENGTHS + 144, 9, 112)
  memory.fill(CODE_LENGTHS + 256, 7, 24)
  memory.fill(CODE_LENGTHS + 280, 8, 8)
  memory.fill(CODE_LENGTHS + 288, 5, 32)
  return (
    buildTable(LITERAL_TABLE, LITERAL_BITS, CODE_LENGTHS, 288, KIND_LITERALS) &&
    buildTable(DISTANCE_TABLE, DISTANCE_BITS, CODE_LENGTHS + 288, 32, KIND_DISTANCES)
  )
}

const KIND_PLAIN: u32 = 0
const KIND_LITERALS: u32 = 1
const KIND_DISTANCES: u32 = 2

const lengthBases: StaticArray<u16> = [
  3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258,
]
const lengthExtras: StaticArray<u8> = [
  0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0,
]

/** The entry of a symbol whose code, or what is left of it, has `bits` bits. */
function entryOf(symbol: u32, bits: u32, kind: u32): u32 {
  const codeOnly = (bits << 5) | bits
  if (kind == KIND_PLAIN) return (symbol << 9) | codeOnly
  if (kind == KIND_LITERALS) {
    if (symbol < 256) return LITERALS | (symbol << 13) | codeOnly
    if (symbol == 256) return ODD | (END << 9) | bits
    if (symbol > 285) return ODD | (BAD << 9) | bits
    return (<u32>unchecked(lengthBases[symbol - 257]) << 21) + codeOnly + <u32>unchecked(lengthExtras[symbol - 257])
  }
  if (symbol > 29) return (BAD_DISTANCE << 9) | codeOnly
  const extra = symbol < 4 ? 0 : (symbol >> 1) - 1
  const base = symbol < 4 ? symbol : (2 + (symbol & 1)) << extra
  return (base << 9) + codeOnly + extra
}

/** Puts what follows a literal within the table's bits into the literal's entry. */
function combineLiterals(): void {
  // From the end on: what follows stands further in front, and is not combined itself yet.
  for (let index: i32 = (1 << LITERAL_BITS) - 1; index >= 0; index--) {
    const at = LITERAL_TABLE + (<usize>index << 2)
    const entry = load<u32>(at)
    if ((entry & (LITERALS | ODD)) != LITERALS) continue
    const bits = entry & 31
    const next = load<u32>(LITERAL_TABLE + ((<usize>index >> bits) << 2))
    if ((next & ODD) != 0 || bits + ((next >> 5) & 15) > LITERAL_BITS) continue
    const literal = (1 << 12) | (entry & (0xff << 13))
    // The bits of both codes; the second literal moves up by eight bits, a length stays.
    const both = (next & 0x1ff) + (bits << 5) + bits
    store<u32>(
      at,
      (next & LITERALS) != 0
        ? LITERALS | ((next & (0xff << 13)) << 8) | literal | both
        : (next & 0x3fe0_0000) | literal | both,
    )
  }
}

/** Builds a decoding table; false when the code is not complete. */
function buildTable(table: usize, tableBits: u32, lengths: usize, count: u32, kind: u32): bool {
  // How many codes each length has, and where its symbols begin among all sorted by length.
  const counts = SORTED_SYMBOLS
  const offsets = SORTED_SYMBOLS + 64
  const sorted = SORTED_SYMBOLS + 128
  memory.fill(counts, 0, 64)
  for (let symbol: u32 = 0; symbol < count; symbol++) {
    const at = counts + (<usize>load<u8>(lengths + symbol) << 2)
    store<u32>(at, load<u32>(at) + 1)
  }
  store<u32>(counts, 0)
  let space: u32 = 0
  let offset: u32 = 0
  for (let bits: u32 = 1; bits <= MAX_CODE; bits++) {
    const codes = load<u32>(counts + (<usize>bits << 2))
    store<u32>(offsets + (<usize>bits << 2), offset)
    offset += codes
    space += codes << (MAX_CODE - bits)
  }
  if (space != 1 << MAX_CODE) return false
  for (let symbol: u32 = 0; symbol < count; symbol++) {
    const bits = load<u8>(lengths + symbol)
    if (bits == 0) continue
    const at = offsets + (<usize>bits << 2)
    const place = load<u32>(at)
    store<u16>(sorted + (<usize>place << 1), <u16>symbol)
    store<u32>(at, place + 1)
  }

  // Codes in order, their bits reversed: to add one to a reversed number, its ones from the top go and a one comes.
  let code: u32 = 0
  let next: u32 = 0
  const size: u32 = 1 << tableBits
  let subtableEnd = size
  let subtablePrefix: u32 = 0xffff_ffff
  let subtable: u32 = 0
  let subtableBits: u32 = 0
  for (let bits: u32 = 1; bits <= MAX_CODE; bits++) {
    for (let left = load<u32>(counts + (<usize>bits << 2)); left > 0; left--) {
      const symbol = <u32>load<u16>(sorted + (<usize>next << 1))
      next++
      if (bits <= tableBits) {
        const entry = entryOf(symbol, bits, kind)
        for (let index = code; index < size; index += 1 << bits) store<u32>(table + (<usize>index << 2), entry)
      } else {
        const prefix = code & (size - 1)
        if (prefix != subtablePrefix) {
          subtablePrefix = prefix
          subtable = subtableEnd
          // As many bits as the codes with this prefix need to fill it.
          subtableBits = bits - tableBits
          let free: i32 = (1 << subtableBits) - <i32>left
          let longer = bits
          while (free > 0 && longer < MAX_CODE) {
            longer++
            subtableBits++
            free = (free << 1) - <i32>load<u32>(counts + (<usize>longer << 2))
          }
          subtableEnd += 1 << subtableBits
          store<u32>(table + (<usize>prefix << 2), ODD | (subtable << 9) | subtableBits)
        }
        const entry = entryOf(symbol, bits - tableBits, kind)
        const subtableSize: u32 = 1 << subtableBits
        for (let index = code >> tableBits; index < subtableSize; index += 1 << (bits - tableBits)) {
          store<u32>(table + (<usize>(subtable + index) << 2), entry)
        }
      }
      let one: u32 = 1 << (bits - 1)
      while ((code & one) != 0) one >>= 1
      code = one == 0 ? 0 : (code & (one - 1)) | one
    }
  }
  if (kind == KIND_LITERALS) combineLiterals()
  return true
}
