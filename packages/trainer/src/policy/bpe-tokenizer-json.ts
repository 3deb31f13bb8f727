export interface BpeTokenizer {
  /** Tokens that are no text; their ids are the first ones. */
  specialTokens: readonly string[]
  /** The other tokens, in the order of their ids. */
  tokens: readonly string[]
  merges: readonly (readonly [string, string])[]
  /** What stands for text without a token. */
  unknownToken: string | null
  preTokenizer: object | null
  decoder: object
}

/** The content of a `tokenizer.json` of byte-pair encoding, as any tokenizer library reads it. */
export function bpeTokenizerJson(tokenizer: BpeTokenizer): object {
  const { specialTokens, tokens, merges, unknownToken, preTokenizer, decoder } = tokenizer
  return {
    version: "1.0",
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map((content, id) => ({
      id,
      content,
      single_word: false,
      lstrip: false,
      rstrip: false,
      normalized: false,
      special: true,
    })),
    normalizer: null,
    pre_tokenizer: preTokenizer,
    post_processor: null,
    decoder,
    model: {
      type: "BPE",
      dropout: null,
      unk_token: unknownToken,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: false,
      vocab: Object.fromEntries([...specialTokens, ...tokens].map((token, id) => [token, id])),
      merges,
    },
  }
}
