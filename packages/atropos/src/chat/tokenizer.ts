import type { TokenIdList } from "./token-ids.ts"

/** Text ↔ token ids of one vocabulary. Implementations never add special tokens or clean up spaces unasked. */
export interface Tokenizer {
  /** Where it came from: a directory or a hub id. */
  readonly name: string
  readonly vocabularySize: number
  readonly bosToken: string | undefined
  readonly eosToken: string | undefined
  readonly eosTokenId: number | undefined
  /** Tokens that the model's own files name as ends of an answer (eos and the generation config's). */
  readonly stopTokenIds: readonly number[]
  /** Source of the chat template that came with it. */
  readonly chatTemplate: string | undefined
  /** Source of the template to use when tools are given, where the model has a separate one. */
  readonly toolChatTemplate: string | undefined
  /** What a chat template sees as variables: `bos_token`, `eos_token`, … */
  readonly specialTokens: Readonly<Record<string, string>>
  /** Ids of `text`; text that spells an added token becomes that token. No BOS is added. */
  encode(text: string): number[]
  /** Ids of `text` in which nothing becomes an added token; needed for `plainContents`. */
  encodePlain?(text: string): number[]
  /** Text of `ids`, special tokens included, spaces as they are, as they would read after other text. */
  decode(ids: TokenIdList): string
  tokenToId(token: string): number | undefined
  idToToken(id: number): string | undefined
  /** Whether `id` is an added token (special or not), which the pre-tokenizer never splits or joins. */
  isAddedToken(id: number): boolean
  /** Whether an added token is one of the special ones. @default all are */
  isSpecialToken?(id: number): boolean
  /** Spelling and id of every added token. */
  readonly addedTokens: ReadonlyMap<string, number>
}
