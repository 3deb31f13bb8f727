import type { Tokenizer } from "./tokenizer.ts"

/** Tokens of known model families that do nothing but end a turn. */
const turnEnds = [
  "<|im_end|>",
  "<|eot_id|>",
  "<|eom_id|>",
  "<|eot|>",
  "<|eom|>",
  "<|end_of_text|>",
  "<|endoftext|>",
  "<end_of_turn>",
  "<turn|>",
  "<eos>",
  "</s>",
  "<|end|>",
  "<|return|>",
  "<|call|>",
  "<｜end▁of▁sentence｜>",
  "[e~[",
  "<|END_OF_TURN_TOKEN|>",
  "<end_of_utterance>",
  "[|endofturn|]",
]
/**
 * Ids of the tokens that only end a turn in this vocabulary: its end token, known ones, and stop tokens that the
 * template never writes. A stop token that it does write may open the next turn instead, as role tokens do.
 */
export function closingTokenIds(tokenizer: Tokenizer): number[] {
  const ids = new Set<number>()
  for (const token of turnEnds) {
    const id = tokenizer.addedTokens.get(token)
    if (id !== undefined) ids.add(id)
  }
  if (tokenizer.eosTokenId !== undefined) ids.add(tokenizer.eosTokenId)
  for (const id of tokenizer.stopTokenIds) {
    const token = tokenizer.idToToken(id)
    if (token !== undefined && tokenizer.chatTemplate?.includes(token) === false) ids.add(id)
  }
  return [...ids]
}
