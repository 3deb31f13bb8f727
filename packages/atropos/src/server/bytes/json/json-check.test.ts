import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { checkJson, JsonBoundError, JsonSyntaxError } from "./json-check.ts"

function isJson(text: string): boolean {
  try {
    checkJson(Buffer.from(text), 100)
    return true
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false
    throw error
  }
}

function isParsed(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

describe("checking JSON", () => {
  test("takes what JSON.parse takes and nothing else, but for NaN and infinities", () => {
    const pieces = fc.constantFrom(
      ...'{}[]:,"\\ \n\t0123456789.-+eEtfnu\u0000\u001f\u007fé'.split(""),
      "true",
      "false",
      "null",
      '"a"',
      "\\u00e9",
      "\\ud800",
      "1e5",
      "-0.5",
      '{"a":1}',
      "[1,2]",
    )
    const broken = fc
      .tuple(fc.json(), fc.double({ min: 0, max: 1, noNaN: true }), pieces, fc.nat(2))
      .map(([json, at, piece, removed]) => {
        const position = Math.floor(at * json.length)
        return json.slice(0, position) + piece + json.slice(position + removed)
      })
    const texts = fc.oneof(
      fc.json(),
      broken,
      fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    )
    fc.assert(
      fc.property(texts, (text) => {
        expect(isJson(text)).toBe(isParsed(text))
      }),
      { numRuns: 3000 },
    )
    for (const word of ["NaN", "Infinity", "-Infinity"]) expect(isJson(`[${word}]`)).toBe(true)
    for (const word of ["-NaN", "Inf", "+Infinity", "nan"]) expect(isJson(`[${word}]`)).toBe(false)
  })

  test("bounds the depth and the digits of integers, not those of floats", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth)
    expect(isJson(nested(100))).toBe(true)
    for (const depth of [101, 100_000]) expect(() => isJson(nested(depth))).toThrow(JsonBoundError)
    expect(() => isJson('{"a":'.repeat(101))).toThrow(JsonBoundError)
    expect(isJson(`-${"1".repeat(4300)}`)).toBe(true)
    expect(() => isJson("1".repeat(4301))).toThrow("has 4301 digits; at most 4300 are taken")
    expect(isJson(`${"1".repeat(5000)}.5`)).toBe(true)
  })

  test("tells the byte at which the text stops being JSON", () => {
    const positionIn = (text: string): number => {
      try {
        checkJson(Buffer.from(text), 100)
      } catch (error) {
        if (error instanceof JsonSyntaxError) return error.position
      }
      return -1
    }
    expect(positionIn('{"a":01}')).toBe(6)
    expect(positionIn('["é",]')).toBe(6)
    expect(positionIn("[1] 2")).toBe(4)
    expect(positionIn('{"a"')).toBe(4)
  })
})
