import { expect, test } from "vitest"
import { digestBody } from "./digest.ts"

test("a digest is the same in every process, and another one for every change", () => {
  // Kept in a run's log: a server of another version must come to the same.
  expect(digestBody(Buffer.from("small"))).toBe("ifYimhGsTrqlU8Gj6pbXj6dINzU")
  const large = Buffer.alloc(10_000, "large")
  expect(digestBody(large)).toBe("3ksOT5RCyXwFMxjhNTO24Q")
  const digests = new Set([digestBody(large), digestBody(large.subarray(1)), digestBody(large.subarray(0, -1))])
  for (let byte = 0; byte < large.length; byte += 501) {
    const changed = Buffer.from(large)
    changed[byte] = 0
    digests.add(digestBody(changed))
  }
  expect(digests.size).toBe(3 + Math.ceil(large.length / 501))
})

test("shared memory has the digest of its bytes", () => {
  const bytes = Buffer.alloc(10_000, "shared")
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length))
  shared.set(bytes)
  expect(digestBody(shared)).toBe(digestBody(bytes))
})
