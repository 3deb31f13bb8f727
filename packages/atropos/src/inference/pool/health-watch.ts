import { isAtroposError } from "../../runtime/errors.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { PlaceQueue } from "./place-queue.ts"
import type { PooledServer } from "./pooled-server.ts"

export interface HealthWatchOptions {
  servers: readonly PooledServer[]
  queue: PlaceQueue
  logger: Logger
  /** Between two rounds of checks. */
  intervalMs: number
  /** Whether servers are asked and struck off; a paused one is waited for in any case. */
  strikesOff: boolean
  /** What can be done when no server is there; said once, if none has answered a request yet. */
  wayOut?: string
}

/** A check that fails while requests still succeed says that the server is busy, not that it is gone. */
const failuresToStrikeOff = 3
/** A server that is well is asked every so many rounds, the others in each. */
const roundsWhileWell = 5
/** Rounds without a request after which the watch rests until the next one. */
const idleRounds = 60

/**
 * Asks every server at an interval, by its cheapest route, whether it is well, from the first request on. Strikes
 * off who cannot be reached, and lets back in who answers again; a paused server is waited for.
 */
export class HealthWatch {
  readonly #options: HealthWatchOptions
  readonly #failures = new Map<PooledServer, number>()
  readonly #checking = new Set<PooledServer>()
  /** When each was asked last. */
  readonly #checked = new Map<PooledServer, number>()
  readonly #running = new AbortController()
  #timer: NodeJS.Timeout | undefined
  #quietRounds = 0
  #saidWayOut = false

  constructor(options: HealthWatchOptions) {
    this.#options = options
  }

  /** A request came: see that the watch goes on. */
  touch(): void {
    this.#quietRounds = 0
    if (this.#timer === undefined && !this.#running.signal.aborted) this.#plan()
  }

  /** Asks all servers at once, before there is a request. */
  look(): void {
    this.touch()
    for (const server of this.#options.servers) void this.#checkOnce(server, failuresToStrikeOff)
  }

  /** A request could not reach its server: do not wait for the next round. */
  suspect(server: PooledServer): void {
    if (server.state.kind === "well") void this.#checkOnce(server, 1)
  }

  pause(server: PooledServer): void {
    if (server.state.kind !== "well") return
    this.#options.logger.info(`${server.server.name} is paused: requests wait for it`)
    server.state = { kind: "paused" }
  }

  close(): void {
    this.#running.abort()
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #plan(): void {
    this.#timer = setTimeout(() => {
      void this.#round()
    }, this.#options.intervalMs)
    // Requests keep the process alive; the watch over them does not have to.
    this.#timer.unref()
  }

  async #round(): Promise<void> {
    await Promise.all(this.#options.servers.map((server) => this.#checkOnce(server, failuresToStrikeOff)))
    this.#timer = undefined
    if (this.#running.signal.aborted) return
    const waiting = this.#options.queue.waiting > 0
    if (waiting || this.#quietRounds++ < idleRounds) this.#plan()
  }

  /** Hundreds of requests may fail together; one question is enough. */
  async #checkOnce(server: PooledServer, failuresNeeded: number): Promise<void> {
    if (this.#checking.has(server)) return
    this.#checking.add(server)
    await this.#check(server, failuresNeeded)
    this.#checking.delete(server)
  }

  async #check(server: PooledServer, failuresNeeded: number): Promise<void> {
    const { signal } = this.#running
    const { intervalMs, strikesOff } = this.#options
    if (!strikesOff && server.state.kind !== "paused") return
    const now = performance.now()
    const heard = Math.max(server.lastSuccess, this.#checked.get(server) ?? Number.NEGATIVE_INFINITY)
    // A request that just succeeded has said it all, and a well server need not be asked that often.
    const enough = failuresNeeded === 1 ? 0 : roundsWhileWell * intervalMs
    if (server.state.kind === "well" && now - heard < enough && !this.#failures.has(server)) return
    this.#checked.set(server, now)
    try {
      if (server.state.kind === "paused") {
        if ((await server.server.isPaused?.({ signal })) !== true) this.#admit(server)
        return
      }
      await server.server.health({ signal })
      this.#failures.delete(server)
      if (server.state.kind === "unhealthy") this.#admit(server)
    } catch (error) {
      if (signal.aborted) return
      const failures = (this.#failures.get(server) ?? 0) + 1
      this.#failures.set(server, failures)
      const gone = isAtroposError(error, "inference-network")
      if (strikesOff && server.state.kind !== "unhealthy" && (gone || failures >= failuresNeeded))
        this.#strikeOff(server, error)
    }
  }

  #admit(server: PooledServer): void {
    const { logger, queue } = this.#options
    logger.info(`${server.server.name} takes requests again`)
    server.state = { kind: "well" }
    server.failuresInARow = 0
    queue.wake(server)
  }

  #strikeOff(server: PooledServer, error: unknown): void {
    const { logger, queue } = this.#options
    const reason = error instanceof Error ? error.message : String(error)
    server.state = { kind: "unhealthy", reason }
    queue.leave(server)
    const words = `no requests to ${server.server.name} until it is well again: ${reason}${this.#wayOut()}`
    logger.warn(words, { waiting: queue.waiting })
  }

  #wayOut(): string {
    const { servers, wayOut } = this.#options
    const noneEver = servers.every(
      ({ state, lastSuccess }) => state.kind === "unhealthy" && lastSuccess === Number.NEGATIVE_INFINITY,
    )
    if (wayOut === undefined || this.#saidWayOut || !noneEver) return ""
    this.#saidWayOut = true
    return `. ${wayOut}`
  }
}
