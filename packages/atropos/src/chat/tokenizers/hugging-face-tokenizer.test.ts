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
