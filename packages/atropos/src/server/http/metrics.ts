import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client"

import type { LiveRun } from "../live/live-run.ts"

/** Environments of which metrics are told one by one; with more of them only the sums are. */
const maxEnvironmentSeries = 1000

/** Numbers for Prometheus. What the run knows is read when it is asked for. */
export class ServerMetrics {
  readonly #registry = new Registry()
  readonly #refused: Counter<"reason">
  readonly #groups: Counter
  readonly #sequences: Counter
  readonly #tokens: Counter
  readonly #repeated: Counter
  readonly #batches: Counter
  readonly #delivered: Counter
  readonly #staleness: Histogram
  readonly #requests: Histogram<"method" | "route" | "status">
  readonly #failedCalls: Counter<"code">
  readonly #dropped: Counter
  readonly #cut: Counter

  constructor(
    live: LiveRun,
    probes: { held: () => number; waiting: () => number; connections: () => Promise<number>; bodies: () => number },
  ) {
    const registers = [this.#registry]
    const counter = (name: string, help: string): Counter => new Counter({ name: `atropos_${name}`, help, registers })
    const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
      const all = new Gauge({
        name: `atropos_${name}`,
        help,
        registers,
        async collect() {
          this.set(await read())
        },
      })
      void all
    }
    this.#groups = counter("pushed_groups_total", "Groups that were pushed and kept")
    this.#sequences = counter("pushed_sequences_total", "Sequences in pushed groups")
    this.#tokens = counter("pushed_tokens_total", "Tokens in pushed groups")
    this.#repeated = counter("repeated_pushes_total", "Pushes that had been kept before and count once")
    this.#batches = counter("batches_total", "Batches delivered to trainers")
    this.#delivered = counter("delivered_sequences_total", "Sequences in delivered batches")
    this.#dropped = counter("dropped_connections_total", "Connections closed at once because too many were open")
    this.#cut = counter("cut_answers_total", "Batches whose answer was not written in full")
    this.#refused = new Counter({
      name: "atropos_refused_requests_total",
      help: "Requests that were refused, by reason",
      labelNames: ["reason"],
      registers,
    })
    this.#failedCalls = new Counter({
      name: "atropos_failed_calls_total",
      help: "Calls that failed through no fault of the caller, by error code",
      labelNames: ["code"],
      registers,
    })
    this.#staleness = new Histogram({
      name: "atropos_staleness_steps",
      help: "Steps from a group's arrival to its delivery",
      buckets: [0, 1, 2, 3, 4, 6, 8, 12, 16, 32, 64],
      registers,
    })
    this.#requests = new Histogram({
      name: "atropos_request_seconds",
      help: "Time from a request's headers to the end of its answer",
      labelNames: ["method", "route", "status"],
      buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30],
      registers,
    })
    gauge("queue_groups", "Groups in the queue", () => live.run.queue.groups)
    gauge("queue_sequences", "Sequences in the queue", () => live.run.queue.sequences)
    gauge("queue_bytes", "Bytes of queued and buffered groups as stored", () => live.run.table.totalBytes)
    gauge("damaged_groups", "Groups that could not be read and were set aside", () => live.run.damaged.length)
    gauge("store_bytes", "Bytes of groups in the store, consumed ones included", () => live.store.payloadBytes)
    gauge("step", "The run's step", () => Number(live.run.step))
    gauge("environments", "Environments registered", () => live.run.environments.all.length)
    gauge("environments_connected", "Environments that are connected", () => live.run.environments.connected)
    gauge("open_batches", "Batches formed and not yet done", () => live.run.batches.open.size)
    gauge("held_pushes", "Pushes held because the queue or the memory for bodies is full", probes.held)
    gauge("body_bytes", "Bytes of bodies being read and checked", probes.bodies)
    gauge("waiting_polls", "Trainers that wait for a batch", probes.waiting)
    gauge("connections", "Open connections", probes.connections)
    this.#addEnvironments(live, registers)
    collectDefaultMetrics({ register: this.#registry })
  }

  refused(reason: string): void {
    this.#refused.inc({ reason })
  }

  kept(groups: readonly { size: number; tokens: number }[]): void {
    this.#groups.inc(groups.length)
    this.#sequences.inc(groups.reduce((sum, { size }) => sum + size, 0))
    this.#tokens.inc(groups.reduce((sum, { tokens }) => sum + tokens, 0))
  }

  repeated(): void {
    this.#repeated.inc()
  }

  delivered(sequences: number, staleness: readonly number[]): void {
    this.#batches.inc()
    this.#delivered.inc(sequences)
    for (const steps of staleness) this.#staleness.observe(steps)
  }

  cut(): void {
    this.#cut.inc()
  }

  failed(code: string): void {
    this.#failedCalls.inc({ code })
  }

  connectionDropped(): void {
    this.#dropped.inc()
  }

  answered(method: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route, status }, seconds)
  }

  /** The exposition text and its content type. */
  async expose(): Promise<{ text: string; contentType: string }> {
    return { text: await this.#registry.metrics(), contentType: this.#registry.contentType }
  }

  #addEnvironments(live: LiveRun, registers: Registry[]): void {
    const of = (name: string, help: string, read: (id: number) => number): void => {
      const series = new Gauge({
        name: `atropos_environment_${name}`,
        help: `${help}, by environment (the first ${maxEnvironmentSeries})`,
        labelNames: ["env"],
        registers,
        collect() {
          this.reset()
          for (const { id, wandbName } of live.run.environments.all.slice(0, maxEnvironmentSeries)) {
            this.set({ env: wandbName }, read(id))
          }
        },
      })
      void series
    }
    const environments = () => live.run.environments.all
    of("queued_sequences", "Sequences in the queue", (id) => environments()[id]?.owner.queued ?? 0)
    of("buffered_sequences", "Sequences that wait in the buffer", (id) => environments()[id]?.buffer.sequences ?? 0)
    of("pushed_groups", "Groups pushed since the run began", (id) => environments()[id]?.pushed ?? 0)
  }
}
