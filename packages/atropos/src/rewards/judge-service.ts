import type { InferenceServer } from "../inference/inference-server.ts"
import type { Logger } from "../runtime/logger.ts"

/** The model behind the `judge` reward. */
export interface JudgeService {
  server: Pick<InferenceServer, "chat" | "name">
  /** Told of judgements that could not be had. */
  logger?: Logger
  signal?: AbortSignal
}
