import type { Environment } from "../run/environments.ts"
import type { LiveRun } from "./live-run.ts"

/**
 * Who is there. An environment that has neither polled nor pushed for the timeout counts as disconnected until its
 * next call, so that a dead one does not block batches with its minimum.
 */
export class Presence {
  readonly #live: LiveRun
  readonly #timeoutMs: number

  constructor(live: LiveRun, timeoutMs: number) {
    this.#live = live
    this.#timeoutMs = timeoutMs
  }

  /** The environment with this id has called. */
  see(id: number | null): Environment | undefined {
    const environment = id === null ? undefined : this.#live.run.environments.all[id]
    if (environment === undefined) return undefined
    environment.lastSeen = Math.max(environment.lastSeen, this.#live.now)
    if (environment.lapsed)
      this.#live.note({ type: "resume-environment", environment: environment.id, time: this.#live.now })
    return environment
  }

  /** Takes notice of those that have not called for long. */
  check(): void {
    const lapsed = this.#live.run.environments.findLapsed(this.#live.now, this.#timeoutMs)
    if (lapsed.length === 0) return
    this.#live.note({ type: "lapse-environments", environments: lapsed.map(({ id }) => id) })
  }
}
