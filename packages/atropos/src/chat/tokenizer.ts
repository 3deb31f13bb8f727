/** Text ↔ token ids of one vocabulary. Implementations never add special tokens or clean up spaces unasked. */
export interface Tokenizer {
  /** Where it came from: a directory or a hub id. */
  readonly name: string
  readonly vocabularySize: number
  readonly bosToken: string | undefined
  readonly eosToken: string | undefined
  readonly eosTokenId: number | undefined
  /** Source of the chat template that came with it. */
  readonly chatTemplate: string | undefined
  /** Ids of `text`; text that spells an added token becomes that token. No BOS is added. */
  encode(text: string): number[]
  /** Text of `ids`, special tokens included, spaces as they are. */
  decode(ids: readonly number[]): string
  tokenToId(token: string): number | undefined
  idToToken(id: number): string | undefined
  /** Whether `id` is an added token (special or not), which the pre-tokenizer never splits or joins. */
  isAddedToken(id: number): boolean
}
