// The official native tokenizers, as the oracle of tests.
import { Tokenizer as NativeTokenizer } from "tokenizers"

import type { Tokenizer } from "../../../packages/atropos/src/chat/tokenizer.ts"

/** Scripts, spaces, digits, code and control tokens that tokenizers are known to differ on. */
export const hardTexts: readonly string[] = [
  "",
  " ",
  "Hello , world . It 's n't",
  "  two  spaces\tand\ttabs\n\n\nthree lines \r\n end ",
  "It's we're I'LL don't 12345678 3.14 1,000,000 0x1F",
  "¿Qué tal? 你好，世界。 Привет! مرحبا שלום नमस्ते 안녕 ไทย",
  "é e\u0301 ﬁ ﬃ ½ ² Å \u00a0nbsp\u200bzero\u2028line \ufeffbom",
  "😀👩‍👩‍👧‍👦🏳️‍🌈 🇩🇪 \u{1F9D1}\u{1F3FD}",
  "def f(x):\n    return x**2  # comment\n\tif (a && b) { c = `d${e}`; }",
  '{"name": "f", "arguments": {"x": [1, 2.50, null, true], "s": "\\u00e9\\n"}}',
  "<|im_start|>user\n<|im_end|><|eot_id|></s><s>[INST] x [/INST]<end_of_turn>\n<think>\n\n</think>",
  "a\u0000b\u0007c \ud83d unpaired",
  "supercalifragilisticexpialidocious ".repeat(3),
  "\n\n\n\n\n\n\n\n \n \n  \n   \n",
]

/** Where our ids and the native ones part; undefined where they are the same. */
export async function differenceToNative(
  tokenizer: Tokenizer,
  file: string,
  texts: readonly string[],
): Promise<string | undefined> {
  const native = NativeTokenizer.fromFile(file)
  for (const text of texts) {
    if (!text.isWellFormed()) continue
    const encoding = await native.encode(text, null, { addSpecialTokens: false })
    const [ours, theirs] = [tokenizer.encode(text), encoding.getIds()]
    if (ours.join() !== theirs.join())
      return `${JSON.stringify(text.slice(0, 80))}: ${ours.slice(0, 30).join(" ")}, native ${theirs.slice(0, 30).join(" ")}`
    // In place: as the native one reads it after something else.
    const anchor = tokenizer.encode("a")
    const whole = await native.decode([...anchor, ...theirs], false)
    const before = await native.decode(anchor, false)
    const [read, expected] = [tokenizer.decode(ours), whole.slice(before.length)]
    if (read !== expected) return `decoded ${JSON.stringify(read)}, native ${JSON.stringify(expected)}`
  }
  return undefined
}
