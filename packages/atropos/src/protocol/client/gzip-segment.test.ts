import { crc32, gunzipSync, inflateRawSync } from "node:zlib"
import { expect, it } from "vitest"
import { gzipSegment } from "./gzip-segment.ts"

it("is gzip, and its deflate data without the last two bytes is a segment that others can follow", async () => {
  const text = Buffer.from(`{"tokens":[${Array.from({ length: 5000 }, (_, index) => index * 31).join(",")}]}`)
  const packed = await gzipSegment(text)
  expect(gunzipSync(packed).equals(text)).toBe(true)
  expect(packed.length).toBeLessThan(text.length)
  const segment = packed.subarray(10, -10)
  const joined = inflateRawSync(Buffer.concat([segment, segment, Uint8Array.of(3, 0)]))
  expect(crc32(joined)).toBe(crc32(Buffer.concat([text, text])))
})
