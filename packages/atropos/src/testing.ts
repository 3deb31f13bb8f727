// Test doubles that environment authors use too.
export { createModelStub, type ModelStub, type ModelStubOptions } from "./inference/stub/model-stub.ts"
export { createStubTokenizer, stubTokenizerFiles } from "./inference/stub/tokenizer/stub-tokenizer.ts"
