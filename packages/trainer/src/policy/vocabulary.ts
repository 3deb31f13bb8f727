import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { bpeTokenizerJson } from "./bpe-tokenizer-json.ts"

/** Tokens that are no characters; their ids are the first ones, in this order. */
export const specialTokens = ["<|pad|>", "<|unknown|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"] as const

/** Printable ASCII and the line feed. */
export const plainCharacters: string =
  "\n" + Array.from({ length: 95 }, (_, index) => String.fromCodePoint(32 + index)).join("")

/** Token ids of a character-level vocabulary. */
export function vocabularySize(characters: string): number {
  return specialTokens.length + new Set(characters).size
}

/** Each turn is its role's token and its text; an assistant's ends with `<|end|>`, as the policy writes it. */
const chatTemplate =
  "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}" +
  "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}" +
  "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"

/**
 * Writes a character-level vocabulary as any tokenizer library reads it: `tokenizer.json` (a BPE without merges,
 * so that each character is one token) and `tokenizer_config.json` with a chat template.
 */
export async function writeTokenizer(directory: string, characters: string): Promise<void> {
  const tokenizer = bpeTokenizerJson({
    specialTokens,
    tokens: [...new Set(characters)],
    merges: [],
    unknownToken: "<|unknown|>",
    preTokenizer: null,
    decoder: { type: "Fuse" },
  })
  const configuration = {
    tokenizer_class: "PreTrainedTokenizerFast",
    clean_up_tokenization_spaces: false,
    pad_token: "<|pad|>",
    unk_token: "<|unknown|>",
    eos_token: "<|end|>",
    chat_template: chatTemplate,
  }
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, "tokenizer.json"), `${JSON.stringify(tokenizer, undefined, 2)}\n`)
  await writeFile(join(directory, "tokenizer_config.json"), `${JSON.stringify(configuration, undefined, 2)}\n`)
}
