import { z } from "zod"

/** Only what we read; the rest of the files passes through to the tokenizer library. */
const tokenText = z
  .union([z.string(), z.looseObject({ content: z.string() }).transform((token) => token.content)])
  .nullish()

export const tokenizerJsonSchema = z.looseObject({
  model: z.looseObject({}),
  pre_tokenizer: z.unknown(),
  decoder: z.unknown(),
  added_tokens: z
    .array(z.looseObject({ id: z.int(), content: z.string(), special: z.boolean().default(false) }))
    .default([]),
})

export const tokenizerConfigSchema = z.looseObject({
  bos_token: tokenText,
  eos_token: tokenText,
  pad_token: tokenText,
  unk_token: tokenText,
  sep_token: tokenText,
  cls_token: tokenText,
  mask_token: tokenText,
  chat_template: z.union([z.string(), z.array(z.looseObject({ name: z.string(), template: z.string() }))]).nullish(),
})

export const generationConfigSchema = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
})

/** The texts of a model folder's files that concern tokens; only `tokenizer.json` has to be there. */
export interface TokenizerFiles {
  "tokenizer.json": string
  "tokenizer_config.json"?: string
  "special_tokens_map.json"?: string
  "chat_template.jinja"?: string
  "generation_config.json"?: string
}

export const optionalFiles = [
  "tokenizer_config.json",
  "special_tokens_map.json",
  "chat_template.jinja",
  "generation_config.json",
] as const
