import fc from "fast-check"
import { expect, test } from "vitest"
import { createJsCodec } from "../scan/js-codec.ts"
import { createWasmCodec } from "../wasm/wasm-codec.ts"
import { findContradiction, isScanned } from "./compare.ts"
import { groupText, mutate, mutation } from "./mutations.ts"

const codecs = { wasm: createWasmCodec()!, js: createJsCodec() }

test("the scanners take nothing that the exact path refuses, and make the same JSON of it", () => {
  fc.assert(
    fc.property(groupText, fc.array(mutation, { maxLength: 3 }), (text, mutations) => {
      expect(findContradiction(codecs, mutate(text, mutations))).toBeNull()
    }),
    { numRuns: 800 },
  )
})

test("the scanners take groups as producers write them", () => {
  const texts = fc.sample(groupText, { numRuns: 500, seed: 1 })
  const taken = texts.filter((text) => isScanned(codecs.js, text))
  expect(taken.length).toBeGreaterThan(150)
})
