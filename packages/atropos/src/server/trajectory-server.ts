import type { AddressInfo } from "node:net"
import { join } from "node:path"

import { explainListenFailure } from "../runtime/listen-failure.ts"
import { type Logger, silentLogger } from "../runtime/logger.ts"
import { createIngest } from "./bytes/ingest.ts"
import type { Ingest } from "./bytes/prepared-group.ts"
import { type ServerLimits, serverLimits } from "./limits.ts"
import { BatchDesk } from "./live/batch-desk.ts"
import { LiveRun } from "./live/live-run.ts"
import { Presence } from "./live/presence.ts"
import { PushDesk } from "./live/push-desk.ts"
import { QueueGate } from "./live/queue-gate.ts"
import { noLogBook, openLogBook } from "./log-book.ts"
import { MemoryPool } from "./memory-pool.ts"
import type { Store } from "./stores/store.ts"

export interface TrajectoryServerOptions {
  /** Where the run lives. The server closes it. */
  store: Store
  /** What checks and encodes pushes. @default threads of its own */
  ingest?: Ingest
  logger?: Logger
  limits?: Partial<ServerLimits>
  /** What callers must know. */
  token?: string
  /** Whether anybody may reset the run. */
  insecure?: boolean
  /** The web origin that may call, such as `https://example.org`. */
  cors?: string
  /** Seconds after which a silent environment counts as disconnected. @default 300 */
  envTimeout?: number
  /** Seconds for which a batch taken with ack=manual waits to be acknowledged. @default 600 */
  ackTimeout?: number
  /** The run's folder, for metrics that are logged with it. @default they are not kept */
  folder?: string
  /** Milliseconds since 1970. @default Date.now */
  now?: () => number
}

/** What a server found in its store. */
export interface RunSummary {
  registered: boolean
  step: bigint
  queuedGroups: number
  environments: number
}

export interface TrajectoryServer {
  /** Recovers the run and starts to answer; resolves to the address, such as `http://127.0.0.1:8000`. */
  listen(options: { host: string; port: number }): Promise<string>
  /** What is in the run now; nothing before `listen`. */
  readonly run: RunSummary | null
  /** Takes no more calls, lets those under way end for up to `graceMs` (10 s), and closes the store. Safe to call twice. */
  close(options?: { graceMs?: number }): Promise<void>
}

export const defaultEnvTimeout = 300
export const defaultAckTimeout = 600
const defaultGraceMs = 10_000
const checkIntervalMs = 500
const sweepIntervalMs = 20

/** The server that environments push scored groups to and trainers pull exact batches from. */
export function createTrajectoryServer(options: TrajectoryServerOptions): TrajectoryServer {
  const { store, logger = silentLogger, now = Date.now } = options
  const limits = serverLimits.parse(options.limits ?? {})
  const memory = new MemoryPool()
  const ingest =
    options.ingest ??
    createIngest(
      { inflatedBytes: limits.maxInflated, nesting: limits.maxNesting, sequencesPerGroup: limits.maxSequences },
      { waitingBytes: limits.maxBodyMemory, memory },
    )
  let started: Awaited<ReturnType<typeof start>> | null = null
  let draining = false
  let closed: Promise<void> | null = null

  async function start(host: string, port: number) {
    // Loaded only here: half of what the library loads would otherwise be for those who never start a server.
    const [{ createApp }, { ServerMetrics }] = await Promise.all([import("./http/app.ts"), import("./http/metrics.ts")])
    const live = await LiveRun.open({ store, logger, now, maxKeys: limits.maxKeys })
    const presence = new Presence(live, (options.envTimeout ?? defaultEnvTimeout) * 1000)
    const ackTimeoutMs = (options.ackTimeout ?? defaultAckTimeout) * 1000
    const batches = new BatchDesk(live, presence, { ackTimeoutMs })
    const pushes = new PushDesk(live, ingest, presence)
    const gate = new QueueGate(live, {
      queueBytes: limits.maxQueue,
      bodyBytes: limits.maxBodyMemory,
      holdMs: limits.maxHold * 1000,
    })
    const metrics = new ServerMetrics(live, {
      held: () => gate.held,
      bodies: () => gate.inside,
      waiting: () => batches.waiting,
      connections: () => new Promise((resolve) => app.server.getConnections((_error, count) => resolve(count))),
    })
    const bookLimits = { maxSources: limits.maxSources, maxBytes: limits.maxJournal }
    const book =
      options.folder === undefined ? noLogBook : await openLogBook(join(options.folder, "journal"), bookLimits)
    const context = {
      live,
      presence,
      batches,
      pushes,
      gate,
      metrics,
      limits,
      logger,
      memory,
      draining: () => draining,
    }
    const app = await createApp(context, book, {
      token: options.token ?? null,
      insecure: options.insecure ?? false,
      cors: options.cors ?? null,
    })
    const timer = setInterval(() => {
      batches
        .check()
        .catch((error: unknown) => logger.warn("batches could not be looked after", { error: String(error) }))
    }, checkIntervalMs)
    timer.unref()
    await app.listen({ host, port }).catch((error: unknown) => {
      clearInterval(timer)
      throw explainListenFailure(error, host, port)
    })
    return { app, live, batches, gate, book, timer }
  }

  async function stop(graceMs: number): Promise<void> {
    draining = true
    if (started !== null) {
      const { app, live, batches, gate, book, timer } = started
      clearInterval(timer)
      batches.close()
      gate.close()
      const impatience = setTimeout(() => app.server.closeAllConnections(), graceMs)
      // Connections whose call ends from here on would stay open for the next one.
      const sweep = setInterval(() => app.server.closeIdleConnections(), sweepIntervalMs)
      await app.close()
      clearInterval(sweep)
      clearTimeout(impatience)
      await book.close()
      await live.close()
    }
    await ingest.close()
    await store.close()
  }

  return {
    async listen({ host, port }) {
      started ??= await start(host, port)
      return addressOf(started.app.server.address(), host)
    },
    get run() {
      if (started === null) return null
      const { run } = started.live
      return {
        registered: run.registration !== null,
        step: run.step,
        queuedGroups: run.queue.groups,
        environments: run.environments.all.length,
      }
    },
    close: ({ graceMs = defaultGraceMs } = {}) => (closed ??= stop(graceMs)),
  }
}

function addressOf(address: AddressInfo | string | null, host: string): string {
  if (address === null || typeof address === "string") return `http://${host}`
  return `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`
}
