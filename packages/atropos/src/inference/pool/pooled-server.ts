import type { SingleServer } from "../servers/open-server.ts"
import type { Place } from "./place-queue.ts"
import { RequestMetrics, type Split } from "./request-metrics.ts"
import { WaitList, type Waiter } from "./wait-list.ts"

/** Unknown counts as well: `well` until a check or a request says otherwise. */
export type ServerState =
  | { kind: "well" }
  | { kind: "unhealthy"; reason: string }
  /** It answers, and takes no requests for now. */
  | { kind: "paused" }

export interface PlaceWaiter extends Waiter {
  split: Split
  stickyKey: string | undefined
  give(place: Place): void
}

export interface PooledServerLimits {
  train: number
  eval: number
}

/** One server in a pool: its places, who waits for it, how it is. */
export class PooledServer {
  readonly server: SingleServer
  readonly metrics: RequestMetrics
  readonly active: Record<Split, number> = { train: 0, eval: 0 }
  /** Requests that belong here (prefix cache) and wait for a place. */
  readonly waiting: Record<Split, WaitList<PlaceWaiter>> = { train: new WaitList(), eval: new WaitList() }
  state: ServerState = { kind: "well" }
  /** It gives one answer whatever `n` asks for. */
  ignoresN: boolean
  /** Requests that failed since the last that did not. */
  failuresInARow = 0
  /** When a request last succeeded, by `performance.now()`. */
  lastSuccess = Number.NEGATIVE_INFINITY
  readonly #limits: PooledServerLimits
  #weight = 1

  constructor(server: SingleServer, options: { limits: PooledServerLimits; metricsLength: number; ignoresN: boolean }) {
    this.server = server
    this.#limits = options.limits
    this.metrics = new RequestMetrics(options.metricsLength)
    this.ignoresN = options.ignoresN
  }

  set weight(weight: number) {
    this.#weight = weight
  }

  limit(split: Split): number {
    return Math.max(1, Math.floor(this.#limits[split] * this.#weight))
  }

  /** Whether a request could be sent now. */
  takes(split: Split): boolean {
    return this.state.kind === "well" && this.active[split] < this.limit(split)
  }

  /**
   * How taken it is, as a share of its places. One that fails at once always looks idle, so failures count as load.
   */
  load(split: Split): number {
    const taken = (this.active[split] + this.waiting[split].size + 1) / this.limit(split)
    return taken * (1 + Math.min(this.failuresInARow, 16))
  }
}
