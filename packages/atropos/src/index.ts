// Every part's public names, grouped by part.
export { AtroposError, errorCodes, isAtroposError, type ErrorCode } from "./runtime/errors.ts"
export { createLineLogger, silentLogger, type Logger, type LogLevel } from "./runtime/logger.ts"
export type { Tokenizer } from "./chat/tokenizer.ts"
export { loadTokenizer, type LoadTokenizerOptions } from "./chat/tokenizers/load-tokenizer.ts"
export type {
  BatchGroup,
  BatchResponse,
  EnvironmentStatusResponse,
  InfoResponse,
  RegisterEnvironmentRequest,
  RegisterEnvironmentResponse,
  RegisterRequest,
  ScoredGroup,
  StatusResponse,
} from "./protocol/messages.ts"
export { TrajectoryClient, type TrajectoryClientOptions } from "./protocol/trajectory-client.ts"
export { createTrajectoryServer, type TrajectoryServer, type TrajectoryServerOptions } from "./server/trajectory-server.ts"
export { createMemoryStore } from "./server/stores/memory-store.ts"
export type {
  ChatCompletion,
  ChatCompletions,
  ChatRequest,
  CompletionDelta,
  FinishReason,
  InferenceMessage,
  InferenceServer,
  LogprobsMode,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletion,
  TokenCompletions,
  Usage,
  VersionSpan,
} from "./inference/inference-server.ts"
