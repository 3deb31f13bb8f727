// Lists of numbers, 64 bytes at a time where they are regular: each byte's kind becomes a bit in a 64-bit mask, and the
// grammar a handful of operations on those. A block starts at a number and is taken up to its last comma, so nothing
// carries over. What is not regular goes number by number. Both take exactly the same texts.
import { CLOSE_LIST, COMMA, isDigit, MINUS, OPEN_LIST, POINT, SPACE, ZERO } from "./characters"
import { SHUFFLES } from "./layout"
import { out, put, putLong, putShort, setOut } from "./output"

const MAX_DIGITS: usize = 30
const MAX_EXPONENT_DIGITS: usize = 2

/** How many numbers the last row had. */
export let rowLength: u32 = 0

// @ts-ignore: decorators are AssemblyScript's
@inline
function bits(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    <u64>i8x16.bitmask(a) |
    (<u64>i8x16.bitmask(b) << 16) |
    (<u64>i8x16.bitmask(c) << 32) |
    (<u64>i8x16.bitmask(d) << 48)
  )
}

// @ts-ignore
@inline
function bitsEqual(a: v128, b: v128, c: v128, d: v128, byte: u8): u64 {
  const same = i8x16.splat(byte)
  return bits(i8x16.eq(a, same), i8x16.eq(b, same), i8x16.eq(c, same), i8x16.eq(d, same))
}

// @ts-ignore
@inline
function isDigitVector(v: v128): v128 {
  return i8x16.lt_u(i8x16.sub(v, i8x16.splat(ZERO)), i8x16.splat(10))
}

// @ts-ignore
@inline
function bitsDigits(a: v128, b: v128, c: v128, d: v128): u64 {
  return bits(isDigitVector(a), isDigitVector(b), isDigitVector(c), isDigitVector(d))
}

/** Nonzero when more than MAX_DIGITS ones stand together. */
// @ts-ignore
@inline
function longRuns(mask: u64): u64 {
  let runs = mask & (mask >> 1)
  runs &= runs >> 2
  runs &= runs >> 4
  runs &= runs >> 8
  return runs & (runs >> 15)
}

/** Writes `length` bytes without those whose bit in `blanks` is set; where the next byte goes. */
// @ts-ignore
@inline
function putWithout(target: usize, from: usize, length: usize, blanks: u64, a: v128, b: v128, c: v128, d: v128): usize {
  if (blanks == 0) {
    v128.store(target, a)
    v128.store(target, b, 16)
    v128.store(target, c, 32)
    v128.store(target, d, 48)
    return target + length
  }
  const end = target + length - <usize>popcnt(blanks)
  for (let at: usize = 0; at < length; at += 8) {
    const mask = <usize>((blanks >> <u64>at) & 0xff)
    const moved = i8x16.swizzle(v128.load64_zero(from + at), v128.load64_zero(SHUFFLES + (mask << 3)))
    v128.store64_lane(target, moved, 0)
    target += 8 - popcnt(mask)
  }
  return end
}

/** Numbers taken by the last call of `takeRegular…`. */
let taken: u32 = 0
/** No block before this is worth another try. */
let irregularUntil: usize = 0

/** Takes integers as long as whole blocks are regular; the position of the first number that was not taken. */
function takeRegularIntegers(position: usize): usize {
  // Locals: globals live in memory.
  let count: u32 = 0
  let target = out
  while (position >= irregularUntil) {
    const a = v128.load(position)
    const b = v128.load(position, 16)
    const c = v128.load(position, 32)
    const d = v128.load(position, 48)
    let digits = bitsDigits(a, b, c, d)
    let commas = bitsEqual(a, b, c, d, COMMA)
    let blanks = bitsEqual(a, b, c, d, SPACE)
    let minuses = bitsEqual(a, b, c, d, MINUS)
    const zeros = bitsEqual(a, b, c, d, ZERO)
    const others = ~(digits | commas | blanks | minuses)
    // Up to the last comma before anything else.
    if (others != 0) commas &= (others & (0 - others)) - 1
    if (commas == 0) break
    const length = 64 - clz(commas)
    const inside: u64 = u64.MAX_VALUE >> (64 - length)
    digits &= inside
    blanks &= inside
    minuses &= inside
    const starts = (1 | ((commas << 1) & ~blanks) | (blanks << 1)) & inside
    const afterMinus = minuses << 1
    const firstDigits = (starts & digits) | afterMinus
    const faults =
      (starts & ~(digits | minuses)) |
      (blanks & ~(commas << 1)) |
      (minuses & ~starts) |
      (afterMinus & ~digits) |
      (zeros & afterMinus) |
      (zeros & firstDigits & (digits >> 1)) |
      longRuns(digits)
    if (faults != 0) {
      irregularUntil = position + 64
      break
    }
    count += <u32>popcnt(commas)
    target = putWithout(target, position, <usize>length, blanks, a, b, c, d)
    position += <usize>length
    if (load<u8>(position) == SPACE) position++
  }
  taken = count
  setOut(target)
  return position
}

/** As `takeRegularIntegers`, for numbers with a point. */
function takeRegularFloats(position: usize): usize {
  let count: u32 = 0
  let target = out
  while (position >= irregularUntil) {
    const a = v128.load(position)
    const b = v128.load(position, 16)
    const c = v128.load(position, 32)
    const d = v128.load(position, 48)
    let digits = bitsDigits(a, b, c, d)
    let commas = bitsEqual(a, b, c, d, COMMA)
    let blanks = bitsEqual(a, b, c, d, SPACE)
    let minuses = bitsEqual(a, b, c, d, MINUS)
    let points = bitsEqual(a, b, c, d, POINT)
    const zeros = bitsEqual(a, b, c, d, ZERO)
    const others = ~(digits | commas | blanks | minuses | points)
    if (others != 0) commas &= (others & (0 - others)) - 1
    if (commas == 0) break
    const length = 64 - clz(commas)
    const inside: u64 = u64.MAX_VALUE >> (64 - length)
    digits &= inside
    blanks &= inside
    minuses &= inside
    points &= inside
    const starts = (1 | ((commas << 1) & ~blanks) | (blanks << 1)) & inside
    const afterMinus = minuses << 1
    const firstDigits = (starts & digits) | afterMinus
    const faults =
      (starts & ~(digits | minuses)) |
      (blanks & ~(commas << 1)) |
      (minuses & ~starts) |
      (afterMinus & ~digits) |
      (zeros & firstDigits & (digits >> 1)) |
      (points & ~(digits << 1)) |
      ((points << 1) & ~digits) |
      // Each number has one point: points and commas take turns exactly when the borrow of this subtraction runs
      // from each point to the next comma, so that the difference has a one at every point and none at a comma.
      (((commas - points) & (points | commas)) ^ points) |
      longRuns(digits)
    if (faults != 0) {
      irregularUntil = position + 64
      break
    }
    count += <u32>popcnt(commas)
    target = putWithout(target, position, <usize>length, blanks, a, b, c, d)
    position += <usize>length
    if (load<u8>(position) == SPACE) position++
  }
  taken = count
  setOut(target)
  return position
}

/** Takes a row of integers from its bracket on; the position behind it, or 0 for the slow path. */
export function scanIntegers(position: usize): usize {
  return scanRow(position, true)
}

/** As `scanIntegers`, for numbers that leave as floats. */
export function scanFloats(position: usize): usize {
  return scanRow(position, false)
}

// @ts-ignore
@inline
function scanRow(position: usize, integers: bool): usize {
  rowLength = 0
  irregularUntil = 0
  if (load<u8>(position) != OPEN_LIST) return 0
  put(OPEN_LIST)
  position++
  if (load<u8>(position) == CLOSE_LIST) {
    put(CLOSE_LIST)
    return position + 1
  }
  let count: u32 = 0
  while (true) {
    position = integers ? takeRegularIntegers(position) : takeRegularFloats(position)
    count += taken + 1
    position = integers ? putInteger(position) : putFloat(position)
    if (position == 0) return 0
    const byte = load<u8>(position)
    position++
    if (byte == COMMA) {
      put(COMMA)
      if (load<u8>(position) == SPACE) position++
    } else if (byte == CLOSE_LIST) {
      put(CLOSE_LIST)
      rowLength = count
      return position
    } else return 0
  }
}

function putInteger(position: usize): usize {
  const end = integerEnd(position)
  putShort(position, end - position)
  return end
}

function putFloat(position: usize): usize {
  const end = numberEnd(position)
  if (end == 0) return 0
  if (isFloat) {
    putLong(position, end - position)
    return end
  }
  // An integer leaves as a float; `-0` would lose its sign.
  if (load<u8>(position) == MINUS && load<u8>(position + 1) == ZERO) return 0
  putShort(position, end - position)
  store<u16>(out, 0x302e)
  setOut(out + 2)
  return end
}

/** The position behind the integer that starts here, or 0. `-0` is for the slow path: it leaves as `0`. */
function integerEnd(position: usize): usize {
  let first = position
  if (load<u8>(position) == MINUS) {
    first++
    if (load<u8>(first) == ZERO) return 0
  }
  if (load<u8>(first) == ZERO) return first + 1
  const end = digitsEnd(first)
  return end == first || end - first > MAX_DIGITS ? 0 : end
}

function digitsEnd(position: usize): usize {
  while (isDigit(load<u8>(position))) position++
  return position
}

/** Whether the number that `numberEnd` went over is a float. */
let isFloat: bool = false

/** The position behind the number that starts here, or 0 when it is none, or is one that could need a second look. */
export function numberEnd(position: usize): usize {
  if (load<u8>(position) == MINUS) position++
  const first = position
  if (load<u8>(first) == ZERO) position++
  else position = digitsEnd(position)
  if (position == first || position - first > MAX_DIGITS) return 0
  isFloat = false
  if (load<u8>(position) == POINT) {
    const fraction = position + 1
    position = digitsEnd(fraction)
    if (position == fraction || position - fraction > MAX_DIGITS) return 0
    isFloat = true
  }
  if ((load<u8>(position) | 0x20) == 0x65) {
    let exponent = position + 1
    const sign = load<u8>(exponent)
    if (sign == MINUS || sign == 0x2b) exponent++
    position = digitsEnd(exponent)
    if (position == exponent || position - exponent > MAX_EXPONENT_DIGITS) return 0
    isFloat = true
  }
  return position
}
