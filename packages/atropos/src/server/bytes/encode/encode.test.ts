import { constants, crc32, inflateRawSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createWasmCodec } from "../wasm/wasm-codec.ts"
import { canonicalCodes, codeLengths } from "./huffman.ts"
import { numberTable, textTable } from "./tables.ts"

const codec = createWasmCodec()!

function roundTrip(bytes: Uint8Array): Buffer {
  const { segment, crc32: sum, jsonBytes } = codec.encode(bytes)
  expect(sum).toBe(crc32(bytes))
  expect(jsonBytes).toBe(bytes.length)
  // Ends on a byte boundary, without a final block: others can follow.
  const twice = Buffer.concat([segment, segment, Buffer.from([1, 0, 0, 0xff, 0xff])])
  const inflated = inflateRawSync(twice)
  expect(inflated.length).toBe(2 * bytes.length)
  return inflated.subarray(bytes.length)
}

describe("a segment", () => {
  test("inflates to what was encoded, whatever that is", () => {
    const numbers = fc.array(fc.oneof(fc.integer(), fc.constant(-100), fc.double()), { maxLength: 3000 })
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 3000 }),
      numbers.map((list) => Buffer.from(JSON.stringify(list))),
      fc.string({ unit: "grapheme", maxLength: 2000 }).map((text) => Buffer.from(text)),
      fc
        .tuple(fc.constantFrom("-100,", "1.0,", "1,", "abc"), fc.nat(2000))
        .map(([part, n]) => Buffer.from(part.repeat(n))),
    )
    fc.assert(
      fc.property(fc.array(content, { maxLength: 4 }), (parts) => {
        const bytes = Buffer.concat(parts)
        expect(roundTrip(bytes).equals(bytes)).toBe(true)
      }),
      { numRuns: 200 },
    )
  })

  test("changes its codes where numbers become text and back", () => {
    const numbers = Buffer.from(Array.from({ length: 20_000 }, (_, index) => index * 7919).join(","))
    const text = Buffer.from("The quick brown fox jumps over the lazy dog. ".repeat(2000))
    const bytes = Buffer.concat([numbers, text, numbers])
    expect(roundTrip(bytes).equals(bytes)).toBe(true)
    expect(codec.encode(text).segment.length).toBeLessThan(text.length * 0.7)
    expect(codec.encode(numbers).segment.length).toBeLessThan(numbers.length * 0.47)
  })

  test("of a run is short", () => {
    for (const pattern of ["-100,", "1.0,"]) {
      const bytes = Buffer.from(pattern.repeat(10_000))
      expect(roundTrip(bytes).equals(bytes)).toBe(true)
      expect(codec.encode(bytes).segment.length).toBeLessThan(bytes.length / 50)
    }
  })

  test("of nothing is an empty block", () => {
    const { segment } = codec.encode(new Uint8Array())
    expect(inflateRawSync(segment, { finishFlush: constants.Z_SYNC_FLUSH })).toHaveLength(0)
  })
})

describe("Huffman codes", () => {
  test("fill the code space exactly within the bound, and heavier symbols get no longer codes", () => {
    const weights = fc.array(fc.oneof(fc.integer({ min: 1, max: 1_000_000 }), fc.constant(1)), {
      minLength: 2,
      maxLength: 200,
    })
    fc.assert(
      fc.property(weights, (list) => {
        const lengths = codeLengths(list, 13)
        expect(lengths.reduce((sum, length) => sum + 2 ** -length, 0)).toBe(1)
        expect(Math.max(...lengths)).toBeLessThanOrEqual(13)
        const codes = canonicalCodes(lengths).map((code, symbol) => `${code}/${lengths[symbol]}`)
        expect(new Set(codes).size).toBe(list.length)
      }),
      { numRuns: 200 },
    )
  })

  test("of both tables have one for each byte", () => {
    for (const { lengths } of [numberTable, textTable]) {
      expect(lengths.slice(0, 257).every((length) => length > 0 && length <= 13)).toBe(true)
    }
  })
})
