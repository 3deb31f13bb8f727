import * as fc from "fast-check"
import { describe, expect, test, vi } from "vitest"

import { HuggingFaceTokenizer } from "../tokenizers/hugging-face-tokenizer.ts"
import { loadTokenizer } from "../tokenizers/load-tokenizer.ts"
import { GrowingText } from "./growing-text.ts"
import { TurnTokens } from "./turn-tokens.ts"

const vectors = new URL("../../../../../conformance/vectors/tokenizers/", import.meta.url).pathname
const byteLevel = new TurnTokens(await loadTokenizer(`${vectors}mini`))
const fallback = new TurnTokens(new HuggingFaceTokenizer("byte fallback", { "tokenizer.json": byteFallbackFile() }))

/** A vocabulary like Llama 2's: letters, a mark for blanks, and single bytes for all else. */
function byteFallbackFile(): string {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`)
  const tokens = ["<unk>", "</s>", ...bytes, "▁", ..."abcdefghijklmnopqrstuvwxyz,".split("")]
  return JSON.stringify({
    added_tokens: [{ id: 1, content: "</s>", special: true }],
    normalizer: { type: "Replace", pattern: { String: " " }, content: "▁" },
    pre_tokenizer: null,
    post_processor: null,
    decoder: {
      type: "Sequence",
      decoders: [
        { type: "Replace", pattern: { String: "▁" }, content: " " },
        { type: "ByteFallback" },
        { type: "Fuse" },
        { type: "Strip", content: " ", start: 1, stop: 0 },
      ],
    },
    model: {
      type: "BPE",
      vocab: Object.fromEntries(tokens.map((token, id) => [token, id])),
      merges: [],
      unk_token: "<unk>",
      byte_fallback: true,
    },
  })
}

function inPieces(tokens: TurnTokens, ids: readonly number[], cuts: readonly number[]): string[] {
  const growing = new GrowingText(tokens)
  const places = [0, ...cuts.map((cut) => cut % (ids.length + 1)), ids.length].toSorted((a, b) => a - b)
  return places.slice(1).map((end, index) => growing.push(ids.slice(places[index], end)))
}

describe.each([
  ["of bytes", byteLevel],
  ["with bytes to fall back to", fallback],
])("with a vocabulary %s", (_, tokens) => {
  const words = fc.constantFrom("a", " be", "naïve", "日本", "😀", "e\u0301", "\uFFFD", "  ", ",")
  const text = fc.array(words, { maxLength: 8 }).map((list) => list.join(""))

  test("the pieces of a sample are the beginning of its text, however it is cut and wherever it ends", () => {
    const ids = fc.oneof(
      fc.tuple(text, fc.nat(9)).map(([whole, drop]) => {
        const all = tokens.tokenizer.encode(whole)
        return all.slice(0, all.length - Math.min(drop, 3))
      }),
      // Samples of any tokens, whole characters or not.
      fc.array(fc.integer({ min: 0, max: 262 }), { maxLength: 12 }),
    )
    fc.assert(
      fc.property(ids, fc.array(fc.nat(), { maxLength: 8 }), (sample, cuts) => {
        const given = inPieces(tokens, sample, cuts).join("")
        const whole = tokens.answerText(sample)
        expect(whole.slice(0, given.length)).toBe(given)
      }),
      { numRuns: 500 },
    )
  })

  test("every token whose characters are complete gives its text at once, all but the end", () => {
    const sample = tokens.tokenizer.encode("so be it, a e")
    expect(inPieces(tokens, sample, [...sample.keys()]).join("")).toBe("so be it, a e")
    const end = tokens.tokenizer.tokenToId("</s>") ?? tokens.tokenizer.eosTokenId ?? -1
    const growing = new GrowingText(new TurnTokens(tokens.tokenizer, { stopTokenIds: [end], closingTokenIds: [] }))
    expect(growing.push([...sample, end])).toBe("so be it, a e")
    // It was no end after all.
    expect(growing.push(sample)).toBe(tokens.tokenizer.decode([end, ...sample]))
  })
})

test("characters over several tokens are held until they are whole", () => {
  const ids = byteLevel.tokenizer.encode("日")
  expect(ids.length).toBeGreaterThan(1)
  const pieces = inPieces(byteLevel, ids, [...ids.keys()])
  expect(pieces.filter((piece) => piece !== "")).toEqual(["日"])
  expect(pieces.at(-1)).toBe("日")
})

test("single bytes wait for the end of their run, which decoders may give up as a whole", () => {
  const { tokenizer } = fallback
  const decode = tokenizer.decode.bind(tokenizer)
  // As the Rust library does: one byte too many, and none of a run is read.
  const spy = vi.spyOn(tokenizer, "decode").mockImplementation((ids) => {
    const text = decode(ids)
    return text.includes("\uFFFD") ? "\uFFFD".repeat(ids.length) : text
  })
  const ids = tokenizer.encode("日本")
  const growing = new GrowingText(fallback)
  expect(ids.map((id) => growing.push([id])).join("")).toBe("")
  expect(growing.push(tokenizer.encode("a"))).toBe("日本a")
  spy.mockRestore()
})

test("bytes that never become characters take no time to speak of", () => {
  const { tokenizer } = byteLevel
  const [byte = -1] = tokenizer.encode("日")
  const decode = vi.spyOn(tokenizer, "decode")
  const growing = new GrowingText(byteLevel)
  for (let count = 0; count < 20_000; count += 1) growing.push([byte])
  const decoded = decode.mock.calls.reduce((sum, [ids]) => sum + ids.length, 0)
  decode.mockRestore()
  expect(decoded).toBeLessThan(200_000)
})
