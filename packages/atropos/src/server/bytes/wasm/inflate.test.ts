import { constants, crc32, deflateRawSync, gunzipSync, gzipSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { createWasmCodec } from "./wasm-codec.ts"

const codec = createWasmCodec()!
const limit = 1 << 26
const inflate = (body: Uint8Array): Buffer | null => {
  const text = codec.inflate(body, limit)
  return text === null ? null : Buffer.from(text)
}

const strategies = [
  constants.Z_DEFAULT_STRATEGY,
  constants.Z_FILTERED,
  constants.Z_HUFFMAN_ONLY,
  constants.Z_RLE,
  constants.Z_FIXED,
]
const options = fc.record({
  level: fc.integer({ min: 0, max: 9 }),
  strategy: fc.constantFrom(...strategies),
  memLevel: fc.integer({ min: 1, max: 9 }),
  windowBits: fc.integer({ min: 9, max: 15 }),
})
/** Numbers, prose, noise, and repeats at short and long distances. */
const content = fc
  .array(
    fc.oneof(
      fc.array(fc.integer({ min: -100, max: 128_000 }), { maxLength: 400 }).map((numbers) => numbers.join(", ")),
      fc.string({ unit: "grapheme", maxLength: 200 }),
      fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
      fc.tuple(fc.string({ minLength: 1, maxLength: 20 }), fc.nat(3000)).map(([part, count]) => part.repeat(count)),
    ),
    { maxLength: 12 },
  )
  .map((parts) => Buffer.from([...parts, ...parts.slice(0, 3)].join(""), "latin1"))

describe("the inflater", () => {
  test("takes whatever zlib makes, to the same bytes", () => {
    fc.assert(
      fc.property(content, options, (bytes, settings) => {
        expect(inflate(gzipSync(bytes, settings))?.equals(bytes)).toBe(true)
      }),
      { numRuns: 300 },
    )
  })

  test("takes large texts of many blocks, with matches from as far as deflate can", () => {
    const far = Buffer.concat([
      Buffer.from("start"),
      Buffer.alloc(32_763 - 5, "0123456789abcdef"),
      Buffer.from("start"),
    ])
    const noise = Buffer.from(Array.from({ length: 300_000 }, (_, index) => (index * 7919 * index) % 251))
    for (const bytes of [far, noise, Buffer.alloc(3_000_000, "-100,")]) {
      for (const level of [1, 6, 9]) expect(inflate(gzipSync(bytes, { level }))?.equals(bytes)).toBe(true)
    }
  })

  test("takes several members, zeros between and behind them, and all that a header may have", () => {
    const one = gzipSync("one")
    const two = gzipSync("two".repeat(100))
    const zeros = Buffer.alloc(9)
    // An empty last member claims to be all: what is larger than the claim is for zlib.
    expect(inflate(Buffer.concat([gzipSync(""), one]))?.toString()).toBe("one")
    expect(inflate(Buffer.concat([gzipSync("t"), zeros, two]))).toBeNull()
    expect(inflate(two)?.length).toBe(300)

    const raw = deflateRawSync("named")
    const trailer = Buffer.alloc(8)
    trailer.writeUInt32LE(crc32("named"), 0)
    trailer.writeUInt32LE(5, 4)
    const header = Buffer.from([0x1f, 0x8b, 8, 4 + 8 + 16 + 2, 0, 0, 0, 0, 0, 3, 2, 0, 9, 9])
    const named = Buffer.concat([header, Buffer.from("name\0comment\0")])
    const check = Buffer.alloc(2)
    check.writeUInt16LE(crc32(named) & 0xffff)
    expect(inflate(Buffer.concat([named, check, raw, trailer]))?.toString()).toBe("named")
    expect(inflate(Buffer.concat([named, Buffer.from([1, 2]), raw, trailer]))).toBeNull()
  })

  test("leaves to zlib what is larger than allowed or claims what cannot be", () => {
    expect(codec.inflate(gzipSync(Buffer.alloc(1000)), 999)).toBeNull()
    const liar = gzipSync("x".repeat(5000))
    liar.writeUInt32LE(4_000_000_000, liar.length - 4)
    expect(inflate(liar)).toBeNull()
    expect(inflate(new Uint8Array())).toBeNull()
  })

  test("takes no damaged body that zlib refuses", () => {
    const damage = fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), {
      minLength: 1,
      maxLength: 3,
    })
    fc.assert(
      fc.property(content, options, damage, fc.nat(12), (bytes, settings, changes, cut) => {
        const body = gzipSync(bytes, settings)
        for (const [at, value] of changes) body[Math.floor(at * (body.length - 1))] = value
        const damaged = body.subarray(0, body.length - cut)
        const ours = inflate(damaged)
        if (ours !== null) expect(ours.equals(gunzipSync(damaged))).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})
