// Every part's public names, grouped by part.
export { AtroposError, errorCodes, isAtroposError, type ErrorCode } from "./runtime/errors.ts"
export { createLineLogger, silentLogger, type Logger, type LogLevel } from "./runtime/logger.ts"
export type { Tokenizer } from "./chat/tokenizer.ts"
export { loadTokenizer, type LoadTokenizerOptions } from "./chat/tokenizers/load-tokenizer.ts"
