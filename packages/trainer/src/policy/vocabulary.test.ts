import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { loadTokenizer } from "atropos-rl"
import { afterAll, beforeAll, expect, test } from "vitest"
import { Tokenizer as NativeTokenizer } from "tokenizers"

import { plainCharacters, vocabularySize, writeTokenizer } from "./vocabulary.ts"

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "vocabulary-"))
  await writeTokenizer(directory, plainCharacters)
})
afterAll(() => rm(directory, { recursive: true }))

test("every character is one token, special tokens are one each, and text comes back", async () => {
  const tokenizer = await loadTokenizer(directory)
  expect(tokenizer.encode(plainCharacters)).toEqual(Array.from({ length: 96 }, (_, index) => 6 + index))
  const chat = "<|user|>1 2  3<|assistant|> x\n<|end|>"
  expect(tokenizer.encode(chat)).toHaveLength(3 + 6 + 3)
  expect(tokenizer.decode(tokenizer.encode(chat))).toBe(chat)
  expect(tokenizer.eosTokenId).toBe(2)
  expect(tokenizer.vocabularySize).toBe(vocabularySize(plainCharacters))
})

test("a character that it lacks is the unknown token", async () => {
  expect((await loadTokenizer(directory)).encode("aéb")).toEqual([72, 1, 73])
})

test("the reference implementation reads the same file to the same ids", async () => {
  const native = NativeTokenizer.fromFile(join(directory, "tokenizer.json"))
  const ours = await loadTokenizer(directory)
  for (const text of ["<|user|>12 +  é3<|assistant|>", plainCharacters]) {
    expect(ours.encode(text)).toEqual((await native.encode(text)).getIds())
  }
})
