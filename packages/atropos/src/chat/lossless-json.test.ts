import * as fc from "fast-check"
import { describe, expect, test } from "vitest"

import { JsonFloat, parseLosslessJson, toPlainJson, tryParseLosslessJson } from "./lossless-json.ts"

describe("parseLosslessJson", () => {
  test("reads what JSON.parse reads", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(toPlainJson(parseLosslessJson(text))).toEqual(JSON.parse(text))
      }),
    )
  })

  test("refuses what JSON.parse refuses", () => {
    fc.assert(
      fc.property(fc.json(), fc.nat(), fc.string({ maxLength: 1 }), (text, at, replacement) => {
        const cut = at % (text.length + 1)
        const broken = text.slice(0, cut) + replacement + text.slice(cut + 1)
        let valid = true
        try {
          JSON.parse(broken)
        } catch {
          valid = false
        }
        expect(tryParseLosslessJson(broken) !== undefined).toBe(valid)
      }),
      { numRuns: 300 },
    )
  })

  test("keeps the kind and size of numbers", () => {
    expect(parseLosslessJson("[1, 1.0, 12345678901234567890, 1e2]")).toEqual([
      1n,
      new JsonFloat(1),
      12345678901234567890n,
      new JsonFloat(100),
    ])
  })

  test("keeps the order of keys that look like integers", () => {
    const value = parseLosslessJson('{"b": 1, "2": 2, "1": 3}')
    expect(value instanceof Map && [...value.keys()]).toEqual(["b", "2", "1"])
  })

  test("stops at a depth no document has", () => {
    expect(() => parseLosslessJson("[".repeat(100_000))).toThrow(SyntaxError)
  })
})
