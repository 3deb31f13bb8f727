import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { expect, test } from "vitest"

import { RecentEncodings } from "./recent-encodings.ts"

function counting(): { encode: (text: string) => number[]; encoded: string[] } {
  const encoded: string[] = []
  const encode = (text: string): number[] => {
    encoded.push(text)
    return Array.from(text, (character) => character.charCodeAt(0))
  }
  return { encode, encoded }
}

test("a text that was encoded lately is not encoded again, and callers may change what they get", () => {
  const { encode, encoded } = counting()
  const recent = new RecentEncodings()
  recent.idsOf("ab", encode)[0] = 0
  recent.idsOf("ab", encode)[1] = 0
  expect(recent.idsOf("ab", encode)).toEqual([97, 98])
  expect(encoded).toEqual(["ab"])
})

test("so many characters are kept, the oldest texts go first, and one that is longer is not kept", () => {
  const { encode, encoded } = counting()
  const recent = new RecentEncodings(4)
  for (const text of ["ab", "cd", "ef", "cd", "ab", "longer", "longer"]) recent.idsOf(text, encode)
  expect(encoded).toEqual(["ab", "cd", "ef", "ab", "longer", "longer"])
})

test("texts cut out of long ones do not keep those in memory", () => {
  setFlagsFromString("--expose-gc")
  const collectGarbage = runInNewContext("gc") as () => void
  const encode = (text: string): number[] => [text.charCodeAt(0)]
  const recent = new RecentEncodings()
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  for (let number = 0; number < 300; number++) {
    const long = Buffer.alloc(100_000, 120).toString("latin1") + String(number)
    recent.idsOf(long.slice(-40), encode)
  }
  collectGarbage()
  // All of the long ones would be 30 MB.
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(10e6)
  expect(recent.idsOf("a", encode)).toEqual([97])
})
