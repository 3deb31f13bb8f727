// Every part's public names, grouped by part.
export { AtroposError, errorCodes, isAtroposError, type ErrorCode } from "./runtime/errors.ts"
export { createLineLogger, silentLogger, type Logger, type LogLevel } from "./runtime/logger.ts"
export type { Tokenizer } from "./chat/tokenizer.ts"
export { TokenIds, type TokenIdList } from "./chat/token-ids.ts"
export {
  createChatTemplate,
  type ChatTemplate,
  type ChatTemplateOptions,
  type RenderRequest,
} from "./chat/chat-template.ts"
export { compileTemplate, type RenderOptions, type Template } from "./chat/template/template.ts"
export { tokenizeForTrainer, type TokenizedChat, type TokenizeForTrainerOptions } from "./chat/tokenize-for-trainer.ts"
export { JsonFloat, parseLosslessJson, type LosslessJson } from "./chat/lossless-json.ts"
export type { ChatContentPart, ChatMessage, ChatTool, ChatToolCall } from "./chat/messages.ts"
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
export { TrajectoryClient, type RefusedPush, type TrajectoryClientOptions } from "./protocol/trajectory-client.ts"
export type { RetryPolicy } from "./runtime/retry.ts"
export {
  createTrajectoryServer,
  type TrajectoryServer,
  type TrajectoryServerOptions,
} from "./server/trajectory-server.ts"
export { createMemoryStore, type MemoryStoreOptions } from "./server/stores/memory-store.ts"
export { openSqliteStore, type SqliteStoreOptions } from "./server/stores/sqlite/sqlite-store.ts"
export type { Commit, Payload, Recovered, Store } from "./server/stores/store.ts"
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
export { openServerPool, type PoolServerOptions } from "./inference/pool/open-pool.ts"
export { ServerPool, type PoolMember, type ServerPoolOptions } from "./inference/pool/server-pool.ts"
export { discoverSlurmServers } from "./inference/slurm/discover-servers.ts"
export { detectServerType } from "./inference/servers/detect.ts"
export { openServer, type SingleServer } from "./inference/servers/open-server.ts"
export type { ServerOptions, ServerType } from "./inference/servers/server-config.ts"

// Environments: what authors write against.
export { Environment, type Collected, type EnvironmentContext, type LogTable } from "./environment/environment.ts"
export { environmentConfig, type EnvironmentConfig } from "./environment/config/environment-config.ts"
export { defineEnvironment, type EnvironmentDefinition } from "./environment/define-environment.ts"
export type {
  AnyEnvironmentClass,
  EnvironmentAbout,
  EnvironmentClass,
  ServerDefaults,
} from "./environment/environment-class.ts"
export type {
  Evaluation,
  EvaluationResult,
  EvaluationSample,
  EvaluatedItem,
} from "./environment/evaluate/evaluation.ts"
export type { ScoredSequence, TrajectoryGroup } from "./environment/groups/trajectory-group.ts"
export type { GroupRun } from "./environment/rollouts/group-run.ts"
export type { EndedRollout } from "./environment/rollouts/run-rollout.ts"
export {
  rolloutEnds,
  type Rollout,
  type RolloutEnd,
  type RolloutResult,
  type Scoring,
} from "./environment/rollouts/rollout.ts"
export {
  defineTool,
  describeTools,
  runToolCalls,
  type AnyTool,
  type Tool,
  type ToolOutcome,
} from "./environment/tools/tool.ts"
export { createRandom, type Random } from "./environment/random.ts"
export { openSession, type SessionOptions } from "./inference/session/recorded-session.ts"
export type {
  Answer,
  AnswerDelta,
  CallOptions,
  SequenceOptions,
  Session,
  SessionCounts,
  SessionSequence,
  ToolChoice,
} from "./inference/session/session.ts"
export {
  createAnswerParser,
  type AnswerParser,
  type AnswerParserOptions,
  type AnswerReader,
  type SampledText,
} from "./inference/session/answer-parser.ts"
export type { AnswerPart, ParsedAnswer } from "./inference/session/growing-answer.ts"
export { TurnTokens, type TurnTokenOptions } from "./chat/bridge/turn-tokens.ts"
export { runIfMain } from "./cli/run-if-main.ts"

// Rewards: math answers.
export {
  boxedAnswerTarget,
  defaultTargets,
  mathEquals,
  parseAnswer,
  parseBoxedAnswer,
  parseGoldAnswer,
  verify,
  type Expression,
  type ExprTarget,
  type LatexTarget,
  type MathEngine,
  type MathItem,
  type MathTarget,
  type Normalisation,
  type ParseAnswerOptions,
  type RelationOperator,
  type StringTarget,
  type VerifyOptions,
} from "./rewards/math/index.ts"
export { MathPool, type MathPoolOptions, type MathVerdict } from "./rewards/math/pool/math-pool.ts"
export type { MathCheck } from "./rewards/math/pool/messages.ts"

// Rewards: functions by name, and what environments share.
export {
  discountedReturns,
  outcomeAdvantages,
  processAdvantages,
  type ProcessAdvantageOptions,
} from "./rewards/advantages.ts"
export { selectBest } from "./rewards/best-of-n.ts"
export { contentOf } from "./rewards/completions.ts"
export { fitTurns, type FitTurnsOptions } from "./rewards/fit-turns.ts"
export { transliterateToSlp1 } from "./rewards/functions/chandas-meter.ts"
export type { JudgeService } from "./rewards/judge-service.ts"
export { applyLengthPenalty, type LengthPenaltyOptions } from "./rewards/length-penalty.ts"
export { passAtK } from "./rewards/pass-at-k.ts"
export { penaliseLength } from "./rewards/penalise-length.ts"
export { deepThinkingPrompt } from "./rewards/prompts.ts"
export { RewardRegistry } from "./rewards/registry.ts"
export {
  callReward,
  defineReward,
  type Completion,
  type PlainReward,
  type Reward,
  type RewardCall,
  type RewardContext,
  type RewardKind,
  type RewardResult,
  type RewardServices,
  type RewardSpec,
  type RewardValues,
} from "./rewards/reward.ts"
export { afterThink, answerAfterThink, splitThinking, type SplitThinking } from "./rewards/thinking.ts"

// Data sets: rows from files, folders, the hub, and built-in packs.
export { Dataset } from "./datasets/dataset.ts"
export {
  builtIn,
  datasetFields,
  environmentRows,
  type DatasetFields,
  type EnvironmentRowsOptions,
} from "./datasets/environment-rows.ts"
export type { Row } from "./datasets/formats/row.ts"
export type { HubDatasetOptions } from "./datasets/hub/hub-files.ts"
export { openDataset, type DatasetOptions } from "./datasets/open-dataset.ts"
export { packRows, type TaskPack } from "./datasets/packs/pack.ts"
export { taskPacks } from "./datasets/packs/packs.ts"

// The library's own zod, for configurations and tools.
export { z } from "zod"
