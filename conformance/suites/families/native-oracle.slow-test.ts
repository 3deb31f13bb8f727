import { readFileSync } from "node:fs"
import { join } from "node:path"

import { expect, test } from "vitest"

import { HuggingFaceTokenizer } from "../../../packages/atropos/src/chat/tokenizers/hugging-face-tokenizer.ts"
import { differenceToNative, hardTexts } from "./native-oracle.ts"
import { packageFolder } from "./tokenizer-packages.ts"

const manifest = JSON.parse(readFileSync(new URL("../../tokenizers/package.json", import.meta.url), "utf8")) as {
  dependencies: Record<string, string>
}
// What random texts are cut from: every script of the templates' cases and this repository's own code.
const sources = [
  readFileSync(new URL("../../vectors/templates/llama-3.1.jsonl", import.meta.url), "utf8"),
  readFileSync(new URL("../../vectors/tool-calls.jsonl", import.meta.url), "utf8"),
  readFileSync(import.meta.filename, "utf8"),
]
const pieces = sources.flatMap((text) =>
  Array.from({ length: 60 }, (_, i) => text.slice(i * 397, i * 397 + 200 + 13 * i).toWellFormed()),
)

test.each(Object.entries(manifest.dependencies))("ids of %s are the native tokenizer's", async (name, version) => {
  const file = join(packageFolder(name, version), "models", "tokenizer.json")
  const tokenizer = new HuggingFaceTokenizer(name, { "tokenizer.json": readFileSync(file, "utf8") })
  expect(await differenceToNative(tokenizer, file, [...hardTexts, ...pieces])).toBeUndefined()
})
