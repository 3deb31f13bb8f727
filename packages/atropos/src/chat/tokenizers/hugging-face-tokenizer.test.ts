import { readFileSync } from "node:fs"

import { describe, expect, test } from "vitest"

import { HuggingFaceTokenizer } from "./hugging-face-tokenizer.ts"

/** A vocabulary of two words and all bytes, in the manner of SentencePiece. */
function byteFallback(): HuggingFaceTokenizer {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`)
  const tokens = [...bytes, "▁a", "b", "▁"]
  return new HuggingFaceTokenizer("bytes", {
    "tokenizer.json": JSON.stringify({
      added_tokens: [],
      normalizer: { type: "Replace", pattern: { String: " " }, content: "▁" },
      pre_tokenizer: null,
      post_processor: null,
      model: {
        type: "BPE",
        byte_fallback: true,
        fuse_unk: true,
        vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
        merges: [],
      },
      decoder: {
        type: "Sequence",
        decoders: [
          { type: "Replace", pattern: { String: "▁" }, content: " " },
          { type: "ByteFallback" },
          { type: "Fuse" },
          { type: "Strip", content: " ", start: 1, stop: 0 },
        ],
      },
    }),
  })
}

describe("a vocabulary that falls back to bytes", () => {
  const tokenizer = byteFallback()
  const [a, b] = [256, 257]

  // What Rust's tokenizers write for the same ids.
  test.each([
    ["whole characters", [a, 0xf0, 0x9f, 0x91, 0xa7, 0xc3, 0xa9, b], " a👧éb"],
    ["a byte order mark", [a, 0xef, 0xbb, 0xbf, b], " a\uFEFFb"],
    ["a character that was cut", [a, 0xf0, 0x9f, 0x91], " a\uFFFD\uFFFD\uFFFD"],
    [
      "a run with a broken character",
      [0xf0, 0x9f, 0x91, 0xa7, 0xf0, 0x9f, a],
      "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD a",
    ],
  ])("decodes %s as the reference does", (_what, ids, text) => {
    expect(tokenizer.decode(ids)).toBe(text)
  })
})

describe("a byte-level vocabulary that leaves splitting to the library", () => {
  const mini = new URL("../../../../../conformance/vectors/tokenizers/mini/tokenizer.json", import.meta.url)
  const json = JSON.parse(readFileSync(mini, "utf8")) as object
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true }

  // What Rust's tokenizers split the same texts into.
  test.each([
    ["\n\n\uFEFF", ["\n", "\n", "\uFEFF"]],
    ["1\n\n\u0085", ["1", "\n\n", "\u0085"]],
    ["\n\nx", ["\n", "\n", "x"]],
  ])("splits %j as the reference does, alone or in a sequence", (text, words) => {
    for (const preTokenizer of [byteLevel, { type: "Sequence", pretokenizers: [byteLevel] }]) {
      const tokenizer = new HuggingFaceTokenizer("split", {
        "tokenizer.json": JSON.stringify({ ...json, pre_tokenizer: preTokenizer }),
      })
      expect(tokenizer.encode(text)).toEqual(words.flatMap((word) => tokenizer.encode(word)))
    }
  })
})
