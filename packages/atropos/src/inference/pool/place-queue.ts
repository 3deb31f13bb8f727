import { AtroposError } from "../../runtime/errors.ts"
import type { PlaceWaiter, PooledServer } from "./pooled-server.ts"
import type { Split } from "./request-metrics.ts"
import { WaitList } from "./wait-list.ts"

/** The right to one request at a server; `release` it exactly once. */
export interface Place {
  server: PooledServer
  release(): void
}

export interface PlaceRequest {
  split: Split
  stickyKey?: string | undefined
  /** Servers that failed the same request before. */
  tried?: ReadonlySet<PooledServer> | undefined
  signal?: AbortSignal | undefined
  /** How long it may wait. */
  waitMs: number
}

/** Requests that may wait; more is a mistake, not a load. */
const longestQueue = 100_000
/** Conversations whose server is remembered. */
const mostStickyKeys = 100_000

/**
 * Gives the servers' places to requests: first come, first served in each split, to the least taken server; requests
 * with one key go to one server while it is well. Whoever waits is woken when a place comes free, nothing polls.
 */
export class PlaceQueue {
  readonly #servers: readonly PooledServer[]
  readonly #waiting: Record<Split, WaitList<PlaceWaiter>> = { train: new WaitList(), eval: new WaitList() }
  /** In the order of use, least recent first. */
  readonly #sticky = new Map<string, PooledServer>()
  #tickets = 0
  /** Where the search for the least taken begins, so that equals take turns. */
  #turn = 0

  constructor(servers: readonly PooledServer[]) {
    this.#servers = servers
  }

  /** Requests that wait, here or for their own server. */
  get waiting(): number {
    const lists = [this.#waiting, ...this.#servers.map((server) => server.waiting)]
    return lists.reduce((sum, { train, eval: evaluation }) => sum + train.size + evaluation.size, 0)
  }

  async take(request: PlaceRequest): Promise<Place> {
    request.signal?.throwIfAborted()
    const own = this.#ownServer(request.stickyKey, request.tried)
    const lists = own?.waiting ?? this.#waiting
    if (lists[request.split].size === 0) {
      const server = own ?? this.#leastTaken(request.split, request.tried)
      if (server?.takes(request.split)) return this.#occupy(server, request.split, request.stickyKey)
    }
    return this.#wait(request, lists[request.split])
  }

  /** To be called when a server became well, or its limits changed. */
  wake(server: PooledServer): void {
    this.#serve(server, "train")
    this.#serve(server, "eval")
  }

  /** To be called when a server became unfit: who waits for it goes to others, by the time of their coming. */
  leave(server: PooledServer): void {
    for (const split of ["train", "eval"] as const) {
      for (const waiter of server.waiting[split].takeAll()) {
        if (waiter.stickyKey !== undefined) this.#sticky.delete(waiter.stickyKey)
        this.#waiting[split].add(waiter)
      }
    }
    for (const other of this.#servers) this.wake(other)
  }

  #wait(request: PlaceRequest, list: WaitList<PlaceWaiter>): Promise<Place> {
    if (this.waiting >= longestQueue) {
      return Promise.reject(
        new AtroposError(
          "inference-timeout",
          `${longestQueue} requests wait for an inference server already; lower the number of workers`,
          { retryable: true },
        ),
      )
    }
    return new Promise((resolve, reject) => {
      const { split, stickyKey, signal, waitMs } = request
      const end = (): void => {
        clearTimeout(timer)
        signal?.removeEventListener("abort", onAbort)
      }
      const withdraw = (): void => {
        end()
        if (!list.remove(waiter)) {
          // It was moved when its server became unfit.
          for (const other of [this.#waiting, ...this.#servers.map((server) => server.waiting)])
            other[split].remove(waiter)
        }
      }
      const onAbort = (): void => {
        withdraw()
        reject(signal?.reason)
      }
      const waiter: PlaceWaiter = {
        ticket: this.#tickets++,
        split,
        stickyKey,
        give: (place) => {
          end()
          resolve(place)
        },
      }
      const timer = setTimeout(() => {
        withdraw()
        reject(new AtroposError("inference-timeout", this.#describeWait(split, waitMs), { retryable: true }))
      }, waitMs)
      signal?.addEventListener("abort", onAbort)
      list.add(waiter)
    })
  }

  #describeWait(split: Split, waitMs: number): string {
    const servers = this.#servers.map((pooled) => {
      const { name } = pooled.server
      switch (pooled.state.kind) {
        case "well":
          return `${name} has ${pooled.active[split]} of ${pooled.limit(split)} ${split} places taken`
        case "unhealthy":
          return `${name} is unhealthy (${pooled.state.reason})`
        case "paused":
          return `${name} is paused`
      }
    })
    return `waited ${Math.round(waitMs / 1000)} s for a place at an inference server: ${servers.join("; ")}; ${this.waiting} more requests wait`
  }

  /** Gives a server's free places to those who came first, of its own and of all. */
  #serve(server: PooledServer, split: Split): void {
    while (server.takes(split)) {
      const own = server.waiting[split].first
      const any = this.#waiting[split].first
      const first = own !== undefined && (any === undefined || own.ticket < any.ticket) ? own : any
      if (first === undefined) return
      if (!server.waiting[split].remove(first)) this.#waiting[split].remove(first)
      first.give(this.#occupy(server, split, first.stickyKey))
    }
  }

  #occupy(server: PooledServer, split: Split, stickyKey: string | undefined): Place {
    server.active[split] += 1
    if (stickyKey !== undefined) this.#stick(stickyKey, server)
    let released = false
    return {
      server,
      release: () => {
        if (released) return
        released = true
        server.active[split] -= 1
        this.#serve(server, split)
      },
    }
  }

  #stick(key: string, server: PooledServer): void {
    this.#sticky.delete(key)
    this.#sticky.set(key, server)
    if (this.#sticky.size <= mostStickyKeys) return
    const [oldest] = this.#sticky.keys()
    if (oldest !== undefined) this.#sticky.delete(oldest)
  }

  #ownServer(key: string | undefined, tried: ReadonlySet<PooledServer> | undefined): PooledServer | undefined {
    const server = key === undefined ? undefined : this.#sticky.get(key)
    // A paused one comes back, and keeps what it has cached.
    return server === undefined || server.state.kind === "unhealthy" || tried?.has(server) ? undefined : server
  }

  /** Those that failed the request before only if there is no other. */
  #leastTaken(split: Split, tried: ReadonlySet<PooledServer> | undefined): PooledServer | undefined {
    const count = this.#servers.length
    let best: PooledServer | undefined
    let bestLoad = Number.POSITIVE_INFINITY
    this.#turn = (this.#turn + 1) % count
    for (let step = 0; step < count; step++) {
      const server = this.#servers[(this.#turn + step) % count]
      if (server === undefined || !server.takes(split)) continue
      const load = server.load(split) + (tried?.has(server) ? 1e6 : 0)
      if (load < bestLoad) {
        best = server
        bestLoad = load
      }
    }
    return best
  }
}
