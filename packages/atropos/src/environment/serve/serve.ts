// The serve loop: keeps the right number of groups in flight, sends what they give, and evaluates.
// Everything that happens (a status, an ended item, an ended evaluation) calls `#advance`, which starts what may start.
// An item that was taken ends in one of three ways: sent, dropped with a reason, or back in the source.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"

import type { EnvironmentStatusResponse } from "../../protocol/messages.ts"
import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Environment } from "../environment.ts"
import { runEvaluation } from "../evaluate/run-evaluation.ts"
import { toWireGroup } from "../groups/to-wire.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { Random } from "../random.ts"
import { collectItem, type CollectedItem } from "../rollouts/collect-item.ts"
import { describeFailure } from "../rollouts/rollout-failure.ts"
import type { OpenSession } from "../rollouts/run-rollout.ts"
import { CheckpointKeeper } from "./checkpoint-keeper.ts"
import { ItemSource, type TakenItem } from "./item-source.ts"
import { ProviderGate } from "./provider-gate.ts"
import { inOwnCode } from "../own-code.ts"
import { register, type Registration } from "./registration.ts"
import { emitTo, type RunListener } from "./run-listener.ts"
import { sendGroups } from "./sender.ts"
import { RunCounter, type RunEnd, type RunSummary } from "./summary.ts"
import { isComplete, workerLimit } from "./worker-limit.ts"

export interface ServeOptions<Item, Config extends EnvironmentConfig> {
  environment: Environment<Item, Config>
  /** The environment's name; `wandb_name` counts when it is set. */
  name: string
  config: Config
  client: TrajectoryClient
  openSession: OpenSession
  /** Inference servers, for `max_num_workers` -1. */
  serverCount: number
  /** Evaluation rollouts at the same time. */
  evaluationConcurrency: number
  random: Random
  logger: Logger
  /** Its abort ends the loop: running rollouts get `shutdown_grace` seconds. */
  signal: AbortSignal
  /** What checkpoint directories are relative to. */
  workingDirectory: string
  listeners?: readonly RunListener[]
  /** Whether any inference server can be asked; a rollout that times out while none can is not at fault. */
  providerIsWell?: () => boolean
  /** Between status polls. @default 100 */
  pollMs?: number
  /** Between questions whether the trainer has started. @default 1000 */
  registrationPollMs?: number
}

/** Serves until the steps are done, the items are exhausted or the signal aborts. */
export async function serve<Item, Config extends EnvironmentConfig>(
  options: ServeOptions<Item, Config>,
): Promise<RunSummary> {
  return new ServeLoop(options).run()
}

/** Failures that an item may have of its own before it is dropped. */
const maxFaults = 3
/** Polls between questions whether the trainer has changed its limits. */
const pollsPerInfo = 50

class ServeLoop<Item, Config extends EnvironmentConfig> {
  readonly #options: ServeOptions<Item, Config>
  readonly #items: ItemSource<Item>
  readonly #checkpoints: CheckpointKeeper<Item>
  readonly #counter = new RunCounter()
  readonly #emit: ReturnType<typeof emitTo>
  readonly #gate = new ProviderGate(() => this.#advance())
  readonly #end = Promise.withResolvers<RunEnd>()
  /** Ends everything; `#workerAbort` ends the rollouts of training only. */
  readonly #abort = new AbortController()
  readonly #workerAbort = new AbortController()
  readonly #workerSignal = AbortSignal.any([this.#abort.signal, this.#workerAbort.signal])
  readonly #workers = new Set<Promise<void>>()
  #registration: Registration | undefined
  #status: EnvironmentStatusResponse | undefined
  /** Groups sent, in all and when the last status was asked for: newer ones are not in its queue sizes. */
  #sent = 0
  #sentAtStatus = 0
  #started = 0
  #evaluation: Promise<void> | undefined
  #stopping = false

  constructor(options: ServeOptions<Item, Config>) {
    this.#options = options
    this.#items = new ItemSource(options.environment)
    this.#checkpoints = new CheckpointKeeper({ ...options, items: this.#items })
    this.#emit = emitTo([this.#counter, ...(options.listeners ?? [])], options.logger)
  }

  async run(): Promise<RunSummary> {
    const { environment, config, signal } = this.#options
    const stop = (): void => this.#stop()
    signal.addEventListener("abort", stop, { once: true })
    if (signal.aborted) stop()
    let polling: Promise<void> | undefined
    try {
      await inOwnCode("setup", () => environment.setup())
      const registration = await this.#register()
      await this.#checkpoints.load(registration, registration.startingStep)
      if (config.evalAtStart) this.#evaluate(this.#step)
      polling = this.#poll().catch((error: unknown) => this.#end.reject(error))
      const end = await this.#end.promise
      await this.#drain(end)
      return this.#counter.summary(end, {
        step: this.#step,
        taken: this.#items.count,
        unfinished: this.#items.pending().length,
      })
    } catch (error) {
      // Told to stop before there was anything to drain.
      if (!signal.aborted || this.#registration !== undefined) throw error
      return this.#counter.summary("stopped", { step: 0, taken: 0, unfinished: 0 })
    } finally {
      signal.removeEventListener("abort", stop)
      this.#stopping = true
      this.#abort.abort()
      this.#gate.close()
      await polling
      await Promise.all(this.#workers)
      await environment.cleanup()
    }
  }

  /** Running rollouts get their grace; before registration there are none to wait for. */
  #stop(): void {
    this.#end.resolve("stopped")
    if (this.#registration === undefined) return this.#abort.abort()
    const grace = setTimeout(() => this.#abort.abort(), this.#options.config.shutdownGrace * 1000)
    this.#abort.signal.addEventListener("abort", () => clearTimeout(grace), { once: true })
  }

  async #register(): Promise<Registration> {
    const { client, config, name, logger, registrationPollMs } = this.#options
    const registration = await register({
      client,
      config,
      name: config.wandbName ?? name,
      signal: this.#abort.signal,
      logger,
      ...(registrationPollMs === undefined ? {} : { pollMs: registrationPollMs }),
    })
    this.#registration = registration
    this.#emit("registered", registration)
    return registration
  }

  async #poll(): Promise<void> {
    const { logger, pollMs = 100 } = this.#options
    const { signal } = this.#abort
    for (let polls = 1; !signal.aborted; polls++) {
      try {
        if (!(await this.#askStatus())) {
          logger.warn("the trajectory server does not know this environment (any more): registering again")
          await this.#register()
          continue
        }
        if (polls % pollsPerInfo === 0) await this.#askInfo()
        this.#advance()
        await sleep(pollMs, undefined, { signal })
      } catch (error) {
        if (!signal.aborted) throw error
      }
    }
  }

  /** Whether the server knows the environment. */
  async #askStatus(): Promise<boolean> {
    const { client } = this.#options
    const { signal } = this.#abort
    const { id } = this.#known()
    const sentBefore = this.#sent
    const status = await client.environmentStatus(id, { signal, totalTimeoutMs: Infinity })
    if (status.registered === false) return false
    const stepBefore = this.#step
    this.#status = status
    this.#sentAtStatus = sentBefore
    this.#emit("status", { status, inFlight: this.#workers.size, limit: this.#limit(status), started: this.#started })
    this.#started = 0
    if (status.current_step > stepBefore) this.#onStep(stepBefore, status.current_step)
    return true
  }

  async #askInfo(): Promise<void> {
    const known = this.#known()
    const { client, logger } = this.#options
    const { signal } = this.#abort
    const info = await client.info({ signal, totalTimeoutMs: Infinity })
    if (info.batch_size < 1) return
    if (info.batch_size === known.batchSize && info.max_token_len === known.maxTokenLen) return
    logger.warn("the trainer changed its limits", { batchSize: info.batch_size, maxTokenLen: info.max_token_len })
    this.#registration = { ...known, batchSize: info.batch_size, maxTokenLen: info.max_token_len }
    this.#emit("registered", this.#registration)
  }

  #onStep(before: number, now: number): void {
    const { stepsPerEval } = this.#options.config
    const { checkpointInterval } = this.#known()
    if (isPassed(before, now, stepsPerEval)) this.#evaluate(now)
    if (isPassed(before, now, checkpointInterval)) {
      void this.#checkpoints.save(this.#known(), Math.floor(now / checkpointInterval) * checkpointInterval)
    }
  }

  #limit(status: EnvironmentStatusResponse): number {
    const { config, serverCount } = this.#options
    const unseen = this.#sent - this.#sentAtStatus
    return workerLimit({
      config,
      batchSize: this.#known().batchSize,
      maxWorkers: config.maxNumWorkers === -1 ? config.maxNumWorkersPerNode * serverCount : config.maxNumWorkers,
      status: {
        ...status,
        queue_size: status.queue_size + unseen,
        self_queue_size: status.self_queue_size + unseen,
      },
      evaluating: this.#evaluation !== undefined,
    })
  }

  #advance(): void {
    const status = this.#status
    if (status === undefined || this.#stopping) return
    const { config } = this.#options
    const { batchSize, numSteps } = this.#known()
    const totalSteps = config.totalSteps === -1 ? numSteps : config.totalSteps
    if (isComplete(status, { groupSize: config.groupSize, batchSize, totalSteps })) return this.#end.resolve("steps")
    if (this.#items.exhausted && this.#workers.size === 0) return this.#end.resolve("exhausted")
    const limit = this.#limit(status)
    while (this.#workers.size < limit && !this.#items.exhausted && this.#gate.open) this.#startWorker()
  }

  #startWorker(): void {
    this.#started += 1
    const worker = this.#work()
      .catch((error: unknown) => this.#end.reject(error))
      .finally(() => {
        this.#workers.delete(worker)
        this.#advance()
      })
    this.#workers.add(worker)
  }

  /** One item, from taking it to its groups' acknowledgement. */
  async #work(): Promise<void> {
    // Environments that compute without waiting would otherwise keep the process from everything else.
    await nextTurn()
    const taken = await this.#items.take()
    if (taken === undefined) return
    const began = performance.now()
    const collected = await this.#collect(taken)
    const outcome = await this.#settle(taken, collected)
    const { productive, failures } = collected
    this.#emit("itemEnd", { outcome, seconds: (performance.now() - began) / 1000, productive, failures })
  }

  async #collect(taken: TakenItem<Item>): Promise<CollectedItem<Item>> {
    const { environment, config, random, logger, openSession, providerIsWell } = this.#options
    return collectItem({
      environment,
      item: taken.item,
      config,
      limits: { ...config, maxTokenLen: this.#known().maxTokenLen },
      random: random.fork(`item-${taken.number}`),
      signal: this.#workerSignal,
      logger,
      step: this.#step,
      openSession,
      ...(providerIsWell === undefined ? {} : { providerIsWell }),
      onRolloutEnd: (rollout) => this.#emit("rolloutEnd", rollout),
    })
  }

  async #settle(taken: TakenItem<Item>, collected: CollectedItem<Item>): Promise<"sent" | "dropped" | "returned"> {
    const { groups, dropped, backlog, failures } = collected
    const passing = failures.find(({ retryable }) => retryable)
    if (groups.length === 0 && passing !== undefined && (this.#workerSignal.aborted || taken.faults < maxFaults)) {
      if (passing.boundary === "provider") {
        this.#gate.fail(this.#options.logger, describeFailure(passing))
      }
      this.#items.giveBack(taken, this.#options.providerIsWell?.() === true)
      return "returned"
    }
    if (passing === undefined) this.#gate.succeed()
    const sent = await this.#send(groups)
    if (sent === "unsent") {
      this.#items.giveBack(taken)
      return "returned"
    }
    for (const drop of dropped) this.#emit("groupDrop", drop)
    this.#items.addBacklog(backlog)
    this.#items.settle(taken)
    return sent
  }

  async #send(groups: readonly TrajectoryGroup[]): Promise<"sent" | "dropped" | "unsent"> {
    if (groups.length === 0) return "dropped"
    const { config, client } = this.#options
    const { tokenizer } = this.#options.environment
    try {
      const result = await sendGroups({
        groups: groups.map((group) => toWireGroup(group, { ...config, tokenizer, environmentId: this.#known().id })),
        client,
        signal: this.#workerSignal,
      })
      for (const group of groups) {
        if (result.sent) this.#emit("groupSent", group)
        else this.#emit("groupDrop", { reason: "refused", detail: result.detail, group })
      }
      if (!result.sent) return "dropped"
      this.#sent += groups.length
      return "sent"
    } catch (error) {
      if (this.#workerSignal.aborted) return "unsent"
      throw error
    }
  }

  #evaluate(step: number): void {
    if (this.#evaluation !== undefined) return
    const { environment, config, random, logger, openSession, evaluationConcurrency } = this.#options
    const began = performance.now()
    this.#emit("evaluationStart", step)
    this.#evaluation = runEvaluation({
      environment,
      config,
      random: random.fork(`evaluation-${step}`),
      signal: this.#abort.signal,
      logger,
      step,
      openSession,
      concurrency: evaluationConcurrency,
    })
      .then((result) => this.#emit("evaluationEnd", { step, result, seconds: (performance.now() - began) / 1000 }))
      .catch((cause: unknown) => this.#emit("evaluationFail", { step, cause }))
      .finally(() => {
        this.#evaluation = undefined
        this.#advance()
      })
  }

  /** Lets what runs come to its end, as far as the kind of end allows. */
  async #drain(end: RunEnd): Promise<void> {
    this.#stopping = true
    // The queue holds more than the trainer will ask for.
    if (end === "steps") this.#workerAbort.abort(new DOMException("the run has all its steps", "AbortError"))
    await Promise.all(this.#workers)
    await this.#evaluation
    if (this.#options.config.evalAtEnd && end !== "stopped") {
      this.#evaluate(this.#step)
      await this.#evaluation
    }
    if (end === "stopped" && this.#step > 0) await this.#checkpoints.save(this.#known(), this.#step)
    await this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    const { client, logger } = this.#options
    try {
      await client.disconnectEnvironment(this.#known().id, { signal: AbortSignal.timeout(2000) })
    } catch (error) {
      logger.debug(`could not disconnect: ${error instanceof Error ? error.message : String(error)}`)
    }
  }

  get #step(): number {
    return this.#status?.current_step ?? this.#registration?.startingStep ?? 0
  }

  #known(): Registration {
    if (this.#registration === undefined) throw new TypeError("used before registration")
    return this.#registration
  }
}

/** Whether a multiple of `interval` lies above `before` and not above `now`. */
function isPassed(before: number, now: number, interval: number): boolean {
  return interval > 0 && Math.floor(now / interval) > Math.floor(before / interval)
}
