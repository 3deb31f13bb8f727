import { readFileSync } from "node:fs"

import { describe, expect, test } from "vitest"

import { HuggingFaceTokenizer } from "../tokenizers/hugging-face-tokenizer.ts"
import { TurnTokens } from "./turn-tokens.ts"

const mini = new URL("../../../../../conformance/vectors/tokenizers/mini/", import.meta.url).pathname
const files = {
  json: JSON.parse(readFileSync(`${mini}tokenizer.json`, "utf8")) as { added_tokens: Record<string, unknown>[] },
  config: readFileSync(`${mini}tokenizer_config.json`, "utf8"),
}

/** The small vocabulary with other added tokens, or with further ones. */
function vocabulary(changes: Record<string, object>): HuggingFaceTokenizer {
  const known = files.json.added_tokens.map((token) => ({ ...token, ...changes[String(token["content"])] }))
  const last = Number(known.at(-1)?.["id"])
  const spellings = new Set(files.json.added_tokens.map(({ content }) => content))
  const added = Object.keys(changes).filter((content) => !spellings.has(content))
  const further = added.map((content, index) => ({ ...known[0], content, id: last + 1 + index, special: false }))
  return new HuggingFaceTokenizer("mini", {
    "tokenizer.json": JSON.stringify({ ...files.json, added_tokens: [...known, ...further] }),
    "tokenizer_config.json": files.config,
  })
}

describe("what is encoded after a token", () => {
  test("leaves out the white space that the token takes in", () => {
    const tokenizer = vocabulary({ "<|end|>": { rstrip: true } })
    const end = tokenizer.tokenToId("<|end|>")
    const whole = tokenizer.encode("a<|end|>\n<|user|>\nb")
    expect(new TurnTokens(tokenizer).encodeAfter(end, "\n<|user|>\nb")).toEqual(whole.slice(2))
  })

  test("is all of the text where that would grow together with the token", () => {
    const tokenizer = vocabulary({ "\n\n": {}, "\n\n\n": {} })
    const two = tokenizer.tokenToId("\n\n")
    expect(two).toBeDefined()
    expect(new TurnTokens(tokenizer).encodeAfter(two, "\nb")).toEqual(tokenizer.encode("\nb"))
  })
})

test("a token that ends a message of Llama 4 ends a turn, though its template writes it too", () => {
  const tokenizer = vocabulary({ "<|eom|>": { special: true }, "<|eot|>": { special: true } })
  const tokens = new TurnTokens(tokenizer)
  for (const token of ["<|eom|>", "<|eot|>", "<|end|>"]) expect(tokens.endsTurn(tokenizer.tokenToId(token))).toBe(true)
  expect(tokens.endsTurn(tokenizer.tokenToId("<|user|>"))).toBe(false)
})
