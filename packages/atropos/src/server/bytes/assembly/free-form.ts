// Values whose content is the producer's: strings, objects and lists of any kind, passed through as they are spelled.
import {
  BACKSLASH, CLOSE_LIST, CLOSE_OBJECT, COLON, COMMA, MINUS, OPEN_LIST, OPEN_OBJECT, QUOTE, WORD_ALSE, WORD_NULL,
  WORD_TRUE, isDigit, skipSpace,
} from "./characters"
import { HASHES } from "./layout"
import { numberEnd } from "./numbers"
import { out, put, putLong, setOut } from "./output"

const MAX_DEPTH: u32 = 64
const MAX_KEYS: u32 = 32

/** Hashes of the keys of all open objects. */
let hashes: usize = HASHES

export function forgetKeys(): void {
  hashes = HASHES
}

/** Copies any value without its white space; the position behind it, or 0 for the slow path. */
export function scanAny(position: usize, depth: u32): usize {
  const byte = load<u8>(position)
  if (byte == QUOTE) return scanString(position)
  if (byte == OPEN_OBJECT) return scanObject(position, depth)
  if (byte == OPEN_LIST) {
    if (depth == MAX_DEPTH) return 0
    put(OPEN_LIST)
    position = skipSpace(position + 1)
    if (load<u8>(position) == CLOSE_LIST) {
      put(CLOSE_LIST)
      return position + 1
    }
    while (true) {
      position = scanAny(position, depth + 1)
      if (position == 0) return 0
      position = skipSpace(position)
      const next = load<u8>(position)
      if (next == CLOSE_LIST) {
        put(CLOSE_LIST)
        return position + 1
      }
      if (next != COMMA) return 0
      put(COMMA)
      position = skipSpace(position + 1)
    }
  }
  if (byte == MINUS || isDigit(byte)) {
    const end = numberEnd(position)
    if (end != 0) putLong(position, end - position)
    return end
  }
  const word = load<u32>(position)
  if (word == WORD_NULL || word == WORD_TRUE) {
    store<u32>(out, word)
    setOut(out + 4)
    return position + 4
  }
  if (byte == 0x66 && load<u32>(position + 1) == WORD_ALSE) {
    put(byte)
    store<u32>(out, WORD_ALSE)
    setOut(out + 4)
    return position + 5
  }
  return 0
}

/** Which of a message's two keys the last object had: 1 role, 2 content, 3 both. */
export let messageKeys: u32 = 0

/** As `scanAny`, for an object. A key that comes twice is for the slow path, which drops the first. */
export function scanObject(position: usize, depth: u32): usize {
  if (load<u8>(position) != OPEN_OBJECT || depth == MAX_DEPTH) return 0
  put(OPEN_OBJECT)
  const own = hashes
  let found: u32 = 0
  position = skipSpace(position + 1)
  if (load<u8>(position) != CLOSE_OBJECT) {
    while (true) {
      if (load<u8>(position) != QUOTE) return 0
      const keyStart = position
      position = scanKey(position)
      if (position == 0) return 0
      for (let other = own; other < hashes; other += 4) if (load<u32>(other) == keyHash) return 0
      if (hashes - own == MAX_KEYS * 4) return 0
      store<u32>(hashes, keyHash)
      hashes += 4
      // "role" and "content", with the quotes
      const length = position - keyStart
      if (length == 6 && load<u32>(keyStart + 1) == 0x656c6f72) found |= 1
      else if (length == 9 && load<u64>(keyStart + 1) == 0x22746e65746e6f63) found |= 2
      position = skipSpace(position)
      if (load<u8>(position) != COLON) return 0
      put(COLON)
      position = scanAny(skipSpace(position + 1), depth + 1)
      if (position == 0) return 0
      position = skipSpace(position)
      const next = load<u8>(position)
      if (next == CLOSE_OBJECT) break
      if (next != COMMA) return 0
      put(COMMA)
      position = skipSpace(position + 1)
    }
  }
  put(CLOSE_OBJECT)
  hashes = own
  messageKeys = found
  return position + 1
}

let keyHash: u32 = 0

/** A key without escapes and control characters, with its hash (FNV-1a). */
function scanKey(position: usize): usize {
  put(QUOTE)
  position++
  let hash: u32 = 0x811c9dc5
  while (true) {
    const byte = load<u8>(position)
    if (byte < 0x20 || byte == BACKSLASH) return 0
    put(byte)
    position++
    if (byte == QUOTE) {
      keyHash = hash
      return position
    }
    hash = (hash ^ byte) * 0x01000193
  }
}

/** A string as it is spelled, its escapes looked at. */
export function scanString(position: usize): usize {
  put(QUOTE)
  position++
  while (true) {
    const part = v128.load(position)
    v128.store(out, part)
    const odd = <u32>(
      i8x16.bitmask(i8x16.eq(part, i8x16.splat(QUOTE))) |
      i8x16.bitmask(i8x16.eq(part, i8x16.splat(BACKSLASH))) |
      i8x16.bitmask(i8x16.lt_u(part, i8x16.splat(0x20)))
    )
    if (odd == 0) {
      position += 16
      setOut(out + 16)
      continue
    }
    const length = <usize>ctz(odd)
    position += length
    setOut(out + length)
    const byte = load<u8>(position)
    if (byte == QUOTE) {
      put(QUOTE)
      return position + 1
    }
    if (byte != BACKSLASH) return 0
    const end = escapeEnd(position)
    if (end == 0) return 0
    // At most a surrogate pair.
    putLong(position, end - position)
    position = end
  }
}

/** The position behind an escape, 0 when it is none or half of a surrogate pair. */
function escapeEnd(position: usize): usize {
  const byte = load<u8>(position + 1)
  if (byte == 0x75) {
    const unit = readHex4(position + 2)
    if (unit < 0) return 0
    if (unit < 0xd800 || unit > 0xdfff) return position + 6
    if (unit > 0xdbff || load<u16>(position + 6) != 0x755c) return 0
    const low = readHex4(position + 8)
    return low < 0xdc00 || low > 0xdfff ? 0 : position + 12
  }
  // " \ / b f n r t
  if (
    byte == QUOTE || byte == BACKSLASH || byte == 0x2f || byte == 0x62 || byte == 0x66 || byte == 0x6e || byte == 0x72 ||
    byte == 0x74
  ) {
    return position + 2
  }
  return 0
}

function readHex4(position: usize): i32 {
  let value: i32 = 0
  for (let at: usize = 0; at < 4; at++) {
    const byte = load<u8>(position + at)
    const letter = byte | 0x20
    if (isDigit(byte)) value = (value << 4) | (byte - 0x30)
    else if (letter >= 0x61 && letter <= 0x66) value = (value << 4) | (letter - 0x57)
    else return -1
  }
  return value
}
