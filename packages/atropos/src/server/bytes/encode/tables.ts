import { blockHeader, canonicalCodes, codeLengths } from "./huffman.ts"

/** The codes of one kind of text, and the bits that announce them. */
export interface CodeTable {
  /** Bits of each literal's code and of the two special symbols. */
  lengths: readonly number[]
  codes: readonly number[]
  header: { bytes: readonly number[]; length: number }
  /** Bits and code of a copy of 258 bytes from 4, and from 5, bytes back. */
  copy4: { code: number; length: number }
  copy5: { code: number; length: number }
}

export const endOfBlock = 256
const copyOf258 = 285

/** Two codes together, and the number of their bits, have to fit into 32 bits. */
const maxCodeBits = 13

/** How often bytes come, per thousand or so, in lists of numbers: token ids, masks, logprobs. */
const inNumbers: Record<string, number> = {
  ...each("0123456789", 76),
  "0": 105,
  "1": 105,
  ",": 150,
  "-": 40,
  ".": 30,
  e: 1,
  "[": 0.5,
  "]": 0.5,
}

/** The same for prose, code and base64 in messages, images and overrides, with some numbers in between. */
const inText: Record<string, number> = {
  ...each("0123456789", 10),
  ...each("abcdefghijklmnopqrstuvwxyz", 14),
  ...each("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 6),
  ...each("eatoinsrhl", 40),
  " ": 110,
  ",": 20,
  '"': 20,
  "\\": 12,
  ".": 10,
  "-": 6,
  "+": 5,
  "/": 6,
  ":": 8,
  "=": 4,
  "(": 4,
  ")": 4,
  "{": 3,
  "}": 3,
  "[": 3,
  "]": 3,
  "'": 4,
  _: 6,
}

function each(characters: string, weight: number): Record<string, number> {
  return Object.fromEntries(characters.split("").map((character) => [character, weight]))
}

function createTable(weightsByCharacter: Record<string, number>, other: number, beyondAscii: number): CodeTable {
  const weights = Array.from({ length: copyOf258 + 1 }, (_, symbol) => {
    if (symbol === copyOf258) return 1
    if (symbol === endOfBlock) return 0.01
    if (symbol > endOfBlock) return 0
    return weightsByCharacter[String.fromCharCode(symbol)] ?? (symbol < 128 ? other : beyondAscii)
  })
  const lengths = codeLengths(weights, maxCodeBits)
  const codes = canonicalCodes(lengths)
  // Distance codes 3 (4 bytes) and 4 (5 or 6 bytes, told by one more bit): one bit each.
  const header = blockHeader(lengths, [0, 0, 0, 1, 1])
  const code = codes[copyOf258] ?? 0
  const length = lengths[copyOf258] ?? 0
  return {
    lengths,
    codes,
    header,
    copy4: { code, length: length + 1 },
    copy5: { code: code + 2 ** length, length: length + 2 },
  }
}

export const numberTable: CodeTable = createTable(inNumbers, 0.02, 0.01)
export const textTable: CodeTable = createTable(inText, 0.5, 1.5)
