import { crc32, gunzipSync } from "node:zlib"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { Payload } from "../../stores/store.ts"
import { deflateSegment } from "../segment.ts"
import type { Piece } from "./coalesce.ts"
import { combineCrc32 } from "./crc32-combine.ts"
import {
  bareFrame,
  batchFrame,
  type Frame,
  GzipStitcher,
  IdentityStitcher,
  stitchedLength,
  type Stitcher,
} from "./stitch.ts"

async function collectPieces(stitcher: Stitcher, payloads: readonly Payload[]): Promise<Piece[]> {
  const all = stitcher.begin()
  for (const payload of payloads) all.push(...(await stitcher.add(payload)))
  return [...all, ...stitcher.end()]
}

async function collect(stitcher: Stitcher, payloads: readonly Payload[]): Promise<Buffer> {
  return Buffer.concat((await collectPieces(stitcher, payloads)).map((piece) => piece.bytes))
}

const bytes = fc.uint8Array({ maxLength: 300 })

test("the CRC of two pieces together follows from the CRC of each", () => {
  fc.assert(
    fc.property(bytes, bytes, (a, b) => {
      expect(combineCrc32(crc32(a), crc32(b), b.length)).toBe(crc32(Buffer.concat([a, b])))
    }),
  )
})

test("the CRC of two pieces together is right when the second is larger than 4 GB", () => {
  // Appending 2^32 zero bytes, in two ways: at once, and as 16 times 2^28.
  const zeros = crc32(Buffer.alloc(1 << 20))
  let part = zeros
  for (let doublings = 0; doublings < 8; doublings += 1) part = combineCrc32(part, part, 2 ** (20 + doublings))
  let whole = part
  for (let count = 1; count < 16; count += 1) whole = combineCrc32(whole, part, 2 ** 28)
  const left = crc32(Buffer.from("left"))
  let stepped = left
  for (let count = 0; count < 16; count += 1) stepped = combineCrc32(stepped, part, 2 ** 28)
  expect(combineCrc32(left, whole, 2 ** 32)).toBe(stepped)
})

describe("a stitched answer", () => {
  const groups = fc.array(
    fc.oneof(
      fc.json(),
      fc.string({ minLength: 5000, maxLength: 90_000 }).map((s) => JSON.stringify(s)),
    ),
    {
      maxLength: 12,
    },
  )
  const frames = fc.constantFrom<Frame>(batchFrame, { before: '{"batch_id":"x","batch":[', after: "]}" })

  test("is one gzip member of the known length that inflates to the groups in their frame", async () => {
    await fc.assert(
      fc.asyncProperty(groups, frames, async (texts, frame) => {
        const payloads = texts.map((text) => deflateSegment(Buffer.from(text)))
        const answer = await collect(new GzipStitcher(frame), payloads)
        const expected = frame.before + texts.join(",") + frame.after
        expect(gunzipSync(answer).toString()).toBe(expected)
        expect(answer.length).toBe(
          stitchedLength(
            payloads.map(({ segment }) => segment.length),
            frame,
          ),
        )
        expect((await collect(new IdentityStitcher(frame), payloads)).toString()).toBe(expected)
      }),
      { numRuns: 60 },
    )
  })

  test("of one group without a frame is that group", async () => {
    const payload = deflateSegment(Buffer.from('{"tokens":[[1]]}'))
    expect(gunzipSync(await collect(new GzipStitcher(bareFrame), [payload])).toString()).toBe('{"tokens":[[1]]}')
  })

  test("sends large segments as they are, without a copy", async () => {
    const payload = deflateSegment(
      Buffer.from(JSON.stringify(Array.from({ length: 9000 }, (_, index) => index * 7919))),
    )
    const pieces = await collectPieces(new GzipStitcher(batchFrame), [payload, payload])
    expect(pieces.filter(({ bytes }) => bytes === payload.segment)).toHaveLength(2)
  })

  test("leaves it to the sender to free what goes out as it is, and frees at once what it has copied or inflated", async () => {
    const freed: string[] = []
    const payloadOf = (name: string, value: unknown): Payload => {
      return { ...deflateSegment(Buffer.from(JSON.stringify(value))), free: () => void freed.push(name) }
    }
    const large = payloadOf(
      "large",
      Array.from({ length: 9000 }, (_, index) => index * 7919),
    )
    const pieces = await collectPieces(new GzipStitcher(batchFrame), [large, payloadOf("small", [1])])
    expect(freed).toEqual(["small"])
    for (const { free } of pieces) free?.()
    expect(freed).toEqual(["small", "large"])
    await collect(new IdentityStitcher(batchFrame), [large, payloadOf("small", [1])])
    expect(freed).toEqual(["small", "large", "large", "small"])
  })

  test("fails on a damaged segment instead of sending a short text", async () => {
    const payload = deflateSegment(Buffer.from("[1,2,3,4,5,6,7,8,9]"))
    const damaged = { ...payload, segment: payload.segment.subarray(0, 4) }
    await expect(collect(new IdentityStitcher(batchFrame), [damaged])).rejects.toThrow()
  })
})
