import { randomUUID } from "node:crypto"
import { promisify } from "node:util"
import { gunzip } from "node:zlib"
import { z } from "zod"
import { counted } from "../runtime/counted.ts"
import type { AtroposError } from "../runtime/errors.ts"
import { type Logger, silentLogger } from "../runtime/logger.ts"
import { retry, type RetryPolicy } from "../runtime/retry.ts"
import { encodeGroup } from "./client/encode-group.ts"
import { gzipSegment } from "./client/gzip-segment.ts"
import { SpoolDirectory } from "./client/spool-directory.ts"
import { type Push, Spool } from "./client/spool.ts"
import { type Call, garbled, Transport } from "./client/transport.ts"
import {
  type BatchResponse,
  type DisconnectEnvironmentResponse,
  disconnectEnvironmentResponse,
  type EnvironmentStatusResponse,
  environmentStatusResponse,
  type InfoResponse,
  infoResponse,
  type LogEntry,
  type PushListResponse,
  pushListResponse,
  type PushResponse,
  pushResponse,
  type RegisterEnvironmentRequest,
  type RegisterEnvironmentResponse,
  registerEnvironmentResponse,
  type RegisterRequest,
  type ScoredGroup,
  type StatusResponse,
  statusResponse,
  type WandbInfoResponse,
  wandbInfoResponse,
} from "./messages.ts"

export interface TrajectoryClientOptions {
  /** Where the trajectory server answers, such as `http://127.0.0.1:8000`; `http://x:TOKEN@host` carries its token. */
  url: string
  /** The server's token, if it wants one. */
  token?: string
  /** How long one attempt may wait for an answer to begin, and for each further piece of it. @default 60_000 */
  attemptTimeoutMs?: number
  /** How long a call but a push is tried again while the server can not be had. Pushes are for as long as it takes. @default 60_000 */
  totalTimeoutMs?: number
  /** Waits between attempts. */
  retry?: RetryPolicy
  /** Bytes of pushes that may wait for the server; when they are that many, pushing waits. @default 256 MiB */
  spoolBytes?: number
  /** Keeps undelivered pushes there, so that they outlive this process. One client at a time. @default in memory */
  spoolDirectory?: string
  /** Connections that are kept open at most. @default 8 */
  connections?: number
  /** Called for each push that the server refused for good; with `spoolDirectory` it is kept in `file`. */
  onRefused?: (refused: RefusedPush) => void
  logger?: Logger
}

export interface RefusedPush {
  groups: ScoredGroup[]
  error: AtroposError
  file: string | null
}

export interface CallOptions {
  signal?: AbortSignal | undefined
  /** Instead of the client's; Infinity tries for as long as it takes. Pushes always do. */
  totalTimeoutMs?: number
}

const inflate = promisify(gunzip)
/** From here on a body is compressed, as environments do. */
const gzipBytes = 1024

/**
 * Talks to a trajectory server over connections that stay open. Calls are repeated while the server can not be had;
 * what it refuses is a `server-refused` error with its own words.
 *
 * No group is thrown away: a push resolves when the server has it, however long that takes, and counts as pending
 * until then. An abort ends the waiting for it, not the sending.
 */
export class TrajectoryClient {
  readonly #transport: Transport
  readonly #spool: Spool
  readonly #options: TrajectoryClientOptions
  readonly #policy: RetryPolicy
  #closing: Promise<{ undelivered: number }> | null = null

  constructor(options: TrajectoryClientOptions) {
    const { url, token, attemptTimeoutMs = 60_000, connections = 8, retry: policy = {} } = options
    const { spoolBytes = 256 * 1024 * 1024, spoolDirectory, logger = silentLogger } = options
    this.#options = options
    this.#policy = policy
    this.#transport = new Transport({ url, token, attemptTimeoutMs, connections })
    this.#spool = new Spool({
      send: (push, signal) => this.#send(push, signal),
      onRefused: (push, error, file) => void this.#refused(push, error, file),
      directory: spoolDirectory === undefined ? null : new SpoolDirectory(spoolDirectory),
      maxBytes: spoolBytes,
      // The other calls find a connection free, too.
      concurrency: Math.max(1, connections - 2),
      policy,
      logger,
    })
  }

  /** Groups handed to `pushGroup` and `pushGroups` that the server has not acknowledged. */
  get pendingGroups(): number {
    return this.#spool.groups
  }

  /** Their bytes, as they are sent. */
  get pendingBytes(): number {
    return this.#spool.bytes
  }

  register(body: RegisterRequest, options?: CallOptions): Promise<{ uuid: bigint; updated: boolean }> {
    return this.#call({ method: "POST", path: "/register", ...json(body), ...options }, (text) => {
      const uuid = /"uuid":\s*(\d+)/.exec(text)?.[1]
      if (uuid === undefined) throw new SyntaxError("it has no uuid")
      return { uuid: BigInt(uuid), updated: text.includes('"updated"') }
    })
  }

  info(options?: CallOptions): Promise<InfoResponse> {
    return this.#call({ method: "GET", path: "/info", ...options }, shaped(infoResponse))
  }

  wandbInfo(options?: CallOptions): Promise<WandbInfoResponse> {
    return this.#call({ method: "GET", path: "/wandb_info", ...options }, shaped(wandbInfoResponse))
  }

  /**
   * The next batch; null while none can be formed, after waiting up to `waitSeconds` for one. With `ack: "manual"` it
   * comes with a `batch_id` and is handed out again unless that is acknowledged in time.
   */
  batch(options: CallOptions & { waitSeconds?: number; ack?: "manual" } = {}): Promise<BatchResponse> {
    const { waitSeconds, ack, ...rest } = options
    const query = new URLSearchParams()
    if (waitSeconds !== undefined) query.set("wait", String(waitSeconds))
    if (ack !== undefined) query.set("ack", ack)
    const path = query.size === 0 ? "/batch" : `/batch?${query.toString()}`
    return this.#call({ method: "GET", path, patienceMs: (waitSeconds ?? 0) * 1000, ...rest }, readBatch)
  }

  /** Settles a batch taken with `ack: "manual"`; again does no harm. */
  acknowledge(batchId: string, options?: CallOptions): Promise<void> {
    const path = `/batch/${encodeURIComponent(batchId)}/ack`
    return this.#call({ method: "POST", path, ...options }, () => {})
  }

  status(options?: CallOptions): Promise<StatusResponse> {
    return this.#call({ method: "GET", path: "/status", ...options }, shaped(statusResponse))
  }

  latestExample(options?: CallOptions): Promise<ScoredGroup> {
    return this.#call({ method: "GET", path: "/latest_example", ...options }, (text) => JSON.parse(text) as ScoredGroup)
  }

  registerEnvironment(body: RegisterEnvironmentRequest, options?: CallOptions): Promise<RegisterEnvironmentResponse> {
    return this.#call(
      { method: "POST", path: "/register-env", ...json(body), ...options },
      shaped(registerEnvironmentResponse),
    )
  }

  disconnectEnvironment(environmentId: number, options?: CallOptions): Promise<DisconnectEnvironmentResponse> {
    return this.#call(
      { method: "POST", path: "/disconnect-env", ...json({ env_id: environmentId }), ...options },
      shaped(disconnectEnvironmentResponse),
    )
  }

  environmentStatus(environmentId: number, options?: CallOptions): Promise<EnvironmentStatusResponse> {
    return this.#call(
      { method: "GET", path: `/status-env?env_id=${environmentId}`, ...options },
      shaped(environmentStatusResponse),
    )
  }

  /** Metrics of an environment or a trainer, kept with the run. */
  log(entries: LogEntry | readonly LogEntry[], options?: CallOptions): Promise<void> {
    return this.#call({ method: "POST", path: "/log", ...json(entries), ...options }, () => {})
  }

  /** Resolves when the server has the group. Rejects when it refuses it for good, or with `spool-full` on an abort. */
  async pushGroup(group: ScoredGroup, options?: CallOptions): Promise<PushResponse> {
    const answer = await this.#push("one", encodeGroup(group), 1, options?.signal)
    return answer as PushResponse
  }

  /** As `pushGroup`, of groups that the server takes or refuses together. */
  async pushGroups(groups: readonly ScoredGroup[], options?: CallOptions): Promise<PushListResponse> {
    const answer = await this.#push("list", `[${groups.map(encodeGroup).join(",")}]`, groups.length, options?.signal)
    return answer as PushListResponse
  }

  /** Resolves when no group is pending. */
  flush(options?: CallOptions): Promise<void> {
    return this.#spool.flush(options?.signal)
  }

  reset(options?: CallOptions): Promise<void> {
    return this.#call({ method: "GET", path: "/reset_data", ...options }, () => {})
  }

  /**
   * Gives pending groups `flushTimeoutMs` (10 s) to arrive, then ends all. Says how many are left: with a
   * `spoolDirectory` the next client there sends them; without one they are lost, and their pushes reject.
   */
  close(options: { flushTimeoutMs?: number } = {}): Promise<{ undelivered: number }> {
    this.#closing ??= this.#close(options.flushTimeoutMs ?? 10_000)
    return this.#closing
  }

  async #close(flushTimeoutMs: number): Promise<{ undelivered: number }> {
    const { logger = silentLogger, spoolDirectory } = this.#options
    // What is left is counted below.
    await this.flush({ signal: AbortSignal.timeout(flushTimeoutMs) }).catch(() => {})
    const undelivered = this.#spool.close()
    if (undelivered > 0) {
      const fate = spoolDirectory === undefined ? "are lost" : `stay in ${spoolDirectory}`
      logger.error(`${counted(undelivered, "group")} could not be delivered and ${fate}`)
    }
    await this.#transport.close()
    return { undelivered }
  }

  async #push(kind: "one" | "list", text: string, groups: number, signal: AbortSignal | undefined): Promise<unknown> {
    const sequence = this.#spool.takeSequence()
    const bytes = Buffer.from(text)
    const gzip = bytes.length >= gzipBytes
    const body = gzip ? await gzipSegment(bytes) : bytes
    return this.#spool.push({ name: { sequence, kind, groups, gzip, idempotencyKey: randomUUID() }, body }, signal)
  }

  async #send({ name, body }: Push, signal: AbortSignal): Promise<unknown> {
    const { kind, gzip, idempotencyKey } = name
    const path = kind === "one" ? "/scored_data" : "/scored_data_list"
    const read = kind === "one" ? shaped(pushResponse) : shaped(pushListResponse)
    return this.#attempt({ method: "POST", path, body, gzip, idempotencyKey, signal }, read)
  }

  async #refused({ name, body }: Push, error: AtroposError, file: string | null): Promise<void> {
    const { onRefused, logger = silentLogger } = this.#options
    logger.error(`the trajectory server refused a group: ${error.message}`, file === null ? {} : { file })
    if (onRefused === undefined) return
    const groups: unknown = JSON.parse((name.gzip ? await inflate(body) : Buffer.from(body)).toString())
    onRefused({ groups: (Array.isArray(groups) ? groups : [groups]) as ScoredGroup[], error, file })
  }

  #call<Answer>(call: Call & CallOptions, read: (text: string) => Answer): Promise<Answer> {
    const { totalTimeoutMs = this.#options.totalTimeoutMs ?? 60_000, signal } = call
    const { logger = silentLogger } = this.#options
    const report = { logger, what: `${call.method} ${call.path}` }
    return retry(() => this.#attempt(call, read), { policy: this.#policy, totalTimeoutMs, signal, report })
  }

  async #attempt<Answer>(call: Call, read: (text: string) => Answer): Promise<Answer> {
    const text = await this.#transport.attempt(call)
    try {
      return read(text)
    } catch (error) {
      throw garbled(`${call.method} ${call.path}`, error instanceof Error ? error.message : String(error))
    }
  }
}

function json(body: unknown): { body: Uint8Array } {
  return { body: Buffer.from(JSON.stringify(body)) }
}

/** Reads a small answer and checks it; keys that the schema does not know are let be. */
function shaped<Schema extends z.ZodType>(schema: Schema): (text: string) => z.output<Schema> {
  return (text) => {
    const result = schema.safeParse(JSON.parse(text))
    if (result.success) return result.data
    throw new SyntaxError(z.prettifyError(result.error).replaceAll("\n", " "))
  }
}

/** Megabytes of tokens: only the outside is checked. */
function readBatch(text: string): BatchResponse {
  const answer: unknown = JSON.parse(text)
  if (typeof answer === "object" && answer !== null && "batch" in answer) {
    if (answer.batch === null || Array.isArray(answer.batch)) return answer as BatchResponse
  }
  throw new SyntaxError("it has no batch")
}
