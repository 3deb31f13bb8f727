import type { Logger } from "../../runtime/logger.ts"
import type { ServerLimits } from "../limits.ts"
import type { BatchDesk } from "../live/batch-desk.ts"
import type { LiveRun } from "../live/live-run.ts"
import type { Presence } from "../live/presence.ts"
import type { PushDesk } from "../live/push-desk.ts"
import type { QueueGate } from "../live/queue-gate.ts"
import type { MemoryPool } from "../memory-pool.ts"
import type { ServerMetrics } from "./metrics.ts"

/** What the routes work with. */
export interface ServerContext {
  readonly live: LiveRun
  readonly presence: Presence
  readonly batches: BatchDesk
  readonly pushes: PushDesk
  readonly gate: QueueGate
  readonly memory: MemoryPool
  readonly limits: ServerLimits
  readonly metrics: ServerMetrics
  readonly logger: Logger
  /** Whether the server has begun to close. */
  readonly draining: () => boolean
}
