// How byte-level vocabularies split texts into words when their files leave that to the library.
import { z } from "zod"

/** GPT-2's. The library's own has JavaScript's white space, which counts a byte order mark and not a next line. */
const words = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

const preTokenizerSchema = z.looseObject({
  type: z.string(),
  use_regex: z.boolean().nullish(),
  add_prefix_space: z.boolean().nullish(),
  pretokenizers: z.array(z.unknown()).nullish(),
})

/** The same pre-tokenizer with that split spelled out, which the library then reads with the reference's white space. */
export function withSplitSpelled(preTokenizer: unknown): unknown {
  const steps = spelledSteps(preTokenizer)
  return steps.length === 1 ? steps[0] : { type: "Sequence", pretokenizers: steps }
}

function spelledSteps(preTokenizer: unknown): unknown[] {
  const { success, data } = preTokenizerSchema.safeParse(preTokenizer)
  if (!success) return [preTokenizer]
  if (data.type === "Sequence") return (data.pretokenizers ?? []).flatMap(spelledSteps)
  // A blank that is put before the text has to be there before it is split.
  if (data.type !== "ByteLevel" || data.use_regex === false || data.add_prefix_space !== false) return [preTokenizer]
  return [
    { type: "Split", pattern: { Regex: words }, behavior: "Isolated", invert: false },
    { ...data, use_regex: false },
  ]
}
