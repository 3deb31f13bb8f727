import { readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"

import type { Verdict } from "../runner/suite.ts"
import { suite } from "./wire.ts"
import { findDetailDifference, findDifference } from "./wire/compare.ts"
import { parseLiteralJson, writeLiteralJson } from "./wire/literal-json.ts"

const vectors = new URL("../vectors/wire/", import.meta.url).pathname

test("a listening server answers every transcript as the contract says", async () => {
  const files = readdirSync(vectors).map((file) => join(vectors, file))
  const failed: string[] = []
  let passed = 0
  const report = (id: string, result: Verdict): void => {
    if (result.verdict === "passed") passed++
    else failed.push(`${id}: ${result.verdict === "failed" ? result.difference : result.reason}`)
  }
  await suite.run(
    files.filter((file) => suite.accepts(file)),
    report,
    { root: vectors },
  )
  expect(failed).toEqual([])
  expect(passed).toBe(files.length)
})

test("the comparison reads literals, not doubles", () => {
  const compare = (expected: string, actual: string) =>
    findDifference(parseLiteralJson(expected), parseLiteralJson(actual), new Map())
  expect(compare('{"a":1}', '{"a":1.0,"b":2}')).toBeNull()
  expect(compare('{"a":null}', "{}")).toContain("missing")
  expect(
    compare('{"$int":"340282366920938463463374607431768211455"}', "340282366920938463463374607431768211456"),
  ).toContain("expected")
  expect(compare('{"$any":"integer","maxDigits":39}', "340282366920938463463374607431768211456")).toBeNull()
  expect(compare('{"$any":"integer","maxDigits":39}', "1.0")).toContain("expected")
  expect(compare('{"$float":1.0}', "1")).toContain("expected")
  expect(compare('{"$float":1.0}', "1.0")).toBeNull()
  expect(compare('{"a":{"$absent":true}}', '{"a":1}')).toContain("expected")
  expect(compare('[{"$any":"integer","distinct":"x"},{"$any":"integer","distinct":"x"}]', "[1,1]")).toContain(
    "came before",
  )
  expect(compare("[1,2]", "[1]")).toContain("expected")
  expect(compare("0.1", "0.1000000000001")).toBeNull()
  expect(compare("0.1", "0.10000000001")).toContain("expected")
  expect(writeLiteralJson(parseLiteralJson(' {"a": [1.0, "\\u0041", true]} '))).toBe('{"a":[1.0,"A",true]}')
})

test("details of a 422 are compared as a set with room for a more precise place", () => {
  const compare = (expected: string, actual: string) => {
    const list = parseLiteralJson(expected)
    return Array.isArray(list) ? findDetailDifference(list, parseLiteralJson(actual)) : "no list"
  }
  const expected = '[{"type":"missing","loc":["body","a"]},{"type":"int_type","loc":["body"]}]'
  expect(
    compare(expected, '[{"type":"int_type","loc":["body","b",1]},{"type":"missing","loc":["body","a"]}]'),
  ).toBeNull()
  expect(compare(expected, '[{"type":"missing","loc":["body","a"]}]')).toContain("no entry")
  expect(
    compare(
      '[{"type":"missing","loc":["body","a"]}]',
      '[{"type":"missing","loc":["body","a"]},{"type":"x","loc":["body"]}]',
    ),
  ).toContain("nobody expects")
})
