import * as fc from "fast-check"
import { expect, test } from "vitest"

import { loadTokenizer } from "../../../packages/atropos/src/chat/tokenizers/load-tokenizer.ts"
import { differenceToNative, hardTexts } from "./native-oracle.ts"

const vectors = new URL("../../vectors/tokenizers/", import.meta.url).pathname

test.each(["mini", "tiny-chatml"])("ids of %s are the native tokenizer's", async (name) => {
  const tokenizer = await loadTokenizer(`${vectors}${name}`)
  const piece = fc.oneof(
    fc.string(),
    fc.string({ unit: "grapheme" }),
    fc.constantFrom("<|end|>", "<|im_end|>", "<think>", " ", "\n"),
  )
  const random = fc.sample(
    fc.array(piece).map((pieces) => pieces.join("")),
    { numRuns: 300, seed: 7 },
  )
  expect(
    await differenceToNative(tokenizer, `${vectors}${name}/tokenizer.json`, [...hardTexts, ...random]),
  ).toBeUndefined()
})
