import type { TokenizerFiles } from "../../../chat/tokenizers/tokenizer-files.ts"
import { HuggingFaceTokenizer } from "../../../chat/tokenizers/hugging-face-tokenizer.ts"
import type { Tokenizer } from "../../../chat/tokenizer.ts"
import { stubChatTemplate } from "./chat-template.ts"
import { stubTokenizerJson } from "./tokenizer-json.ts"

export const stubTokenizerName = "atropos-stub"

/** The files of the stub's tokenizer as a model folder would have them: write them somewhere for Python. */
export const stubTokenizerFiles: TokenizerFiles = {
  "tokenizer.json": stubTokenizerJson,
  "tokenizer_config.json": JSON.stringify({
    tokenizer_class: "PreTrainedTokenizerFast",
    model_max_length: 32_768,
    clean_up_tokenization_spaces: false,
    bos_token: null,
    eos_token: "<|im_end|>",
    pad_token: "<|endoftext|>",
    chat_template: stubChatTemplate,
  }),
}

/** The small tokenizer that comes with the package: no hub, no files. */
export function createStubTokenizer(): Tokenizer {
  return new HuggingFaceTokenizer(stubTokenizerName, stubTokenizerFiles)
}
