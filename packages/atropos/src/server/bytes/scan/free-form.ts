import { maxFreeFormDepth, maxKeys } from "../codec.ts"
import type { Text } from "./text.ts"

/** Takes values whose content is the producer's, as they are spelled but for white space. */
export class FreeForm {
  /** Which of a message's two keys the last object had: 1 role, 2 content, 3 both. */
  messageKeys = 0
  private readonly text: Text
  private readonly keyHashes: number[] = []
  private keyHash = 0

  constructor(text: Text) {
    this.text = text
  }

  scanAny(position: number, depth: number): number {
    const { text } = this
    const byte = text.input[position] ?? 0
    if (byte === 0x22) return this.scanString(position)
    if (byte === 0x7b) return this.scanObject(position, depth)
    if (byte === 0x5b) return this.scanList(position, depth)
    let end = 0
    if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) end = text.numberEnd(position)
    else if (text.hasWord(position, "null") || text.hasWord(position, "true")) end = position + 4
    else if (text.hasWord(position, "false")) end = position + 5
    if (end !== 0) text.copy(position, end)
    return end
  }

  private scanList(position: number, depth: number): number {
    if (depth === maxFreeFormDepth) return 0
    return scanList(this.text, position, (entry) => this.scanAny(entry, depth + 1))
  }

  /** A key that comes twice is for the exact path, which drops the first. */
  scanObject(position: number, depth: number): number {
    const { text, keyHashes } = this
    const { input } = text
    if (input[position] !== 0x7b || depth === maxFreeFormDepth) return 0
    text.put(0x7b)
    const own = keyHashes.length
    let found = 0
    position = text.skipSpace(position + 1)
    if (input[position] !== 0x7d) {
      for (;;) {
        const keyStart = position
        position = this.scanKey(position)
        if (position === 0) return 0
        if (keyHashes.includes(this.keyHash, own) || keyHashes.length - own === maxKeys) return 0
        keyHashes.push(this.keyHash)
        if (position - keyStart === 6 && text.hasWord(keyStart, '"role"')) found |= 1
        else if (position - keyStart === 9 && text.hasWord(keyStart, '"content"')) found |= 2
        position = text.skipSpace(position)
        if (input[position] !== 0x3a) return 0
        text.put(0x3a)
        position = this.scanAny(text.skipSpace(position + 1), depth + 1)
        if (position === 0) return 0
        position = text.skipSpace(position)
        if (input[position] === 0x7d) break
        if (input[position] !== 0x2c) return 0
        text.put(0x2c)
        position = text.skipSpace(position + 1)
      }
    }
    text.put(0x7d)
    keyHashes.length = own
    this.messageKeys = found
    return position + 1
  }

  /** Forgets the keys of objects that a scan left open. */
  reset(): void {
    this.keyHashes.length = 0
  }

  /** A key without escapes and control characters, with its hash (FNV-1a). */
  private scanKey(position: number): number {
    const { input, output } = this.text
    if (input[position] !== 0x22) return 0
    let { out } = this.text
    output[out++] = 0x22
    position += 1
    let hash = 0x811c9dc5
    for (;;) {
      const byte = input[position] ?? 0
      if (byte < 0x20 || byte === 0x5c) return 0
      output[out++] = byte
      position += 1
      if (byte === 0x22) {
        this.keyHash = hash >>> 0
        this.text.out = out
        return position
      }
      hash = Math.imul(hash ^ byte, 0x01000193)
    }
  }

  private scanString(position: number): number {
    const { input } = this.text
    const start = position
    position += 1
    for (;;) {
      const byte = input[position] ?? 0
      if (byte === 0x22) {
        this.text.copy(start, position + 1)
        return position + 1
      }
      if (byte < 0x20) return 0
      if (byte !== 0x5c) position += 1
      else {
        position = escapeEnd(input, position)
        if (position === 0) return 0
      }
    }
  }
}

/** A list whose entries `scanEntry` takes. */
export function scanList(text: Text, position: number, scanEntry: (position: number) => number): number {
  const { input } = text
  if (input[position] !== 0x5b) return 0
  text.put(0x5b)
  position = text.skipSpace(position + 1)
  if (input[position] !== 0x5d) {
    for (;;) {
      position = scanEntry(position)
      if (position === 0) return 0
      position = text.skipSpace(position)
      if (input[position] === 0x5d) break
      if (input[position] !== 0x2c) return 0
      text.put(0x2c)
      position = text.skipSpace(position + 1)
    }
  }
  text.put(0x5d)
  return position + 1
}

/** The position behind an escape, 0 when it is none or half of a surrogate pair. */
function escapeEnd(input: Uint8Array, position: number): number {
  const byte = input[position + 1]
  if (byte === 0x75) {
    const unit = readHex4(input, position + 2)
    if (unit < 0) return 0
    if (unit < 0xd800 || unit > 0xdfff) return position + 6
    if (unit > 0xdbff || input[position + 6] !== 0x5c || input[position + 7] !== 0x75) return 0
    const low = readHex4(input, position + 8)
    return low < 0xdc00 || low > 0xdfff ? 0 : position + 12
  }
  return byte !== undefined && simpleEscapes.includes(byte) ? position + 2 : 0
}

const simpleEscapes = '"\\/bfnrt'.split("").map((character) => character.charCodeAt(0))

function readHex4(input: Uint8Array, position: number): number {
  let value = 0
  for (let index = 0; index < 4; index += 1) {
    const byte = input[position + index] ?? 0
    const letter = byte | 0x20
    if (byte >= 0x30 && byte <= 0x39) value = value * 16 + byte - 0x30
    else if (letter >= 0x61 && letter <= 0x66) value = value * 16 + letter - 0x57
    else return -1
  }
  return value
}
