import { gzipSync } from "node:zlib"
import { describe, expect, test } from "vitest"
import { inflateGzip } from "./inflate.ts"

const limit = 1 << 20

describe("inflating with zlib", () => {
  const one = gzipSync("one ")
  const two = gzipSync("two".repeat(1000))
  const zeros = Buffer.alloc(700)

  test.each([
    ["one member", [one], "one "],
    ["members one after another", [one, two, one], `one ${"two".repeat(1000)}one `],
    ["zeros behind", [two, zeros], "two".repeat(1000)],
    ["zeros between members", [one, zeros, two], `one ${"two".repeat(1000)}`],
    ["an empty member", [gzipSync("")], ""],
  ])("takes %s", (_, parts, text) => {
    const result = inflateGzip(Buffer.concat(parts), limit)
    expect(result instanceof Uint8Array && Buffer.from(result).toString()).toBe(text)
  })

  test.each([
    ["a short header", one.subarray(0, 5)],
    ["a member cut short", two.subarray(0, -3)],
    ["a second member cut short", Buffer.concat([two, one.subarray(0, 12)])],
    ["rubbish behind", Buffer.concat([one, Buffer.from("abc")])],
    ["rubbish behind zeros", Buffer.concat([one, zeros, Buffer.from("abc")])],
    ["only zeros", zeros],
  ])("refuses %s", (_, body) => {
    expect(inflateGzip(body, limit)).toMatchObject({ status: 400, body: "Invalid gzip payload" })
  })

  test("stops at the limit, also when several members together exceed it", () => {
    const half = gzipSync(Buffer.alloc(limit / 2 + 1))
    expect(inflateGzip(half, limit)).toBeInstanceOf(Uint8Array)
    expect(inflateGzip(Buffer.concat([half, half]), limit)).toMatchObject({ status: 413 })
    expect(inflateGzip(Buffer.concat([half, zeros, half]), limit)).toMatchObject({ status: 413 })
  })
})
