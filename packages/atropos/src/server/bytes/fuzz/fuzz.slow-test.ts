import fc from "fast-check"
import { expect, test } from "vitest"
import { createJsCodec } from "../scan/js-codec.ts"
import { createWasmCodec } from "../wasm/wasm-codec.ts"
import { findContradiction } from "./compare.ts"
import { groupText, mutate, mutation } from "./mutations.ts"

const runs = Number(process.env["ATROPOS_FUZZ_RUNS"] ?? 10_000)
const mutationsOfEach = 10

test(`no wrong decision in ${runs * mutationsOfEach} mutations`, () => {
  const codecs = { wasm: createWasmCodec()!, js: createJsCodec() }
  const damages = fc.array(fc.array(mutation, { minLength: 1, maxLength: 4 }), {
    minLength: mutationsOfEach,
    maxLength: mutationsOfEach,
  })
  fc.assert(
    fc.property(groupText, damages, (text, all) => {
      for (const mutations of all) expect(findContradiction(codecs, mutate(text, mutations))).toBeNull()
    }),
    { numRuns: runs },
  )
})
