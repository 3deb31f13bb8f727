// The serve loop: keeps the right number of groups in flight, sends what they give, and evaluates.
// Everything that happens (a status, an ended group, an ended evaluation) calls `#advance`, which starts what may start.
import { setTimeout as sleep } from "node:timers/promises"

import type { EnvironmentStatusResponse } from "../../protocol/messages.ts"
import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Collected, Environment } from "../environment.ts"
import { checkGroup, type DropReason } from "../groups/check-group.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import { toWireGroup } from "../groups/to-wire.ts"
import { runEvaluation } from "../evaluate/run-evaluation.ts"
import type { Random } from "../random.ts"
import { GroupRun } from "../rollouts/group-run.ts"
import type { EndedRollout, OpenSession } from "../rollouts/run-rollout.ts"
import { describeFailure, toFailure } from "../rollouts/rollout-failure.ts"
import { ItemSource, type TakenItem } from "./item-source.ts"
import { register, type Registration } from "./registration.ts"
import { untilItWorks } from "./retry.ts"
import { sendGroups } from "./sender.ts"
import { isComplete, workerLimit } from "./worker-limit.ts"

export interface ServeOptions<Item, Config extends EnvironmentConfig> {
  environment: Environment<Item, Config>
  /** The environment's name; `wandb_name` counts when it is set. */
  name: string
  config: Config
  client: TrajectoryClient
  openSession: OpenSession
  /** Told the trainer's limits at registration. */
  onRegistration?: (registration: Registration) => void
  /** Inference servers, for `max_num_workers` -1. */
  serverCount: number
  random: Random
  logger: Logger
  /** Its abort ends the loop: running rollouts get `shutdown_grace` seconds. */
  signal: AbortSignal
  /** Between status polls. @default 100 */
  pollMs?: number
}

export interface ServeSummary {
  end: "steps" | "exhausted" | "stopped"
  steps: number
  items: number
  groupsSent: number
  rollouts: number
  rolloutsFailed: number
  dropped: Partial<Record<DropReason, number>>
}

export async function serve<Item, Config extends EnvironmentConfig>(
  options: ServeOptions<Item, Config>,
): Promise<ServeSummary> {
  return new ServeLoop(options).run()
}

class ServeLoop<Item, Config extends EnvironmentConfig> {
  readonly #options: ServeOptions<Item, Config>
  readonly #items: ItemSource<Item>
  readonly #ended = Promise.withResolvers<ServeSummary["end"]>()
  readonly #abort = new AbortController()
  readonly #summary = { groupsSent: 0, rollouts: 0, rolloutsFailed: 0, dropped: {} as ServeSummary["dropped"] }
  readonly #workers = new Set<Promise<void>>()
  #registration: Registration | undefined
  #status: EnvironmentStatusResponse | undefined
  /** Groups sent, in all and when the last status was asked for: newer ones are not in its queue sizes. */
  #sent = 0
  #sentAtStatus = 0
  #evaluation: Promise<void> | undefined
  #stopping = false

  constructor(options: ServeOptions<Item, Config>) {
    this.#options = options
    this.#items = new ItemSource(options.environment)
  }

  async run(): Promise<ServeSummary> {
    const { environment, config, signal } = this.#options
    try {
      await environment.setup()
      this.#registration = await this.#register()
      if (config.evalAtStart) this.#evaluate(this.#registration.startingStep)
      const polling = this.#poll().catch((error: unknown) => this.#ended.reject(error))
      const stop = (): void => this.#ended.resolve("stopped")
      signal.addEventListener("abort", stop, { once: true })
      if (signal.aborted) stop()
      const end = await this.#ended.promise
      signal.removeEventListener("abort", stop)
      this.#stopping = true
      await this.#drain(end)
      this.#abort.abort()
      await polling
      return this.#summarise(end)
    } finally {
      this.#abort.abort()
      await environment.cleanup()
    }
  }

  async #register(): Promise<Registration> {
    const { client, config, name, logger, signal } = this.#options
    const registration = await register({
      client,
      config,
      name: config.wandbName ?? name,
      signal: AbortSignal.any([signal, this.#abort.signal]),
      logger,
    })
    this.#options.onRegistration?.(registration)
    logger.info(`registered as ${registration.name}`, { step: registration.startingStep })
    return registration
  }

  async #poll(): Promise<void> {
    const { client, logger, pollMs = 100 } = this.#options
    const { signal } = this.#abort
    while (!signal.aborted) {
      try {
        const sentBefore = this.#sent
        const { id } = this.#known()
        const status = await untilItWorks(() => client.environmentStatus(id, { signal }), {
          signal,
          logger,
          what: "asking for the status",
        })
        if (status.registered === false) {
          logger.warn("the trajectory server does not know this environment (any more): registering again")
          this.#registration = await this.#register()
          continue
        }
        const stepBefore = this.#status?.current_step ?? this.#known().startingStep
        this.#status = status
        this.#sentAtStatus = sentBefore
        this.#onStep(stepBefore, status.current_step)
        this.#advance()
        await sleep(pollMs, undefined, { signal })
      } catch (error) {
        if (!signal.aborted) throw error
      }
    }
  }

  #onStep(before: number, now: number): void {
    const { stepsPerEval } = this.#options.config
    if (stepsPerEval > 0 && Math.floor(now / stepsPerEval) > Math.floor(before / stepsPerEval)) this.#evaluate(now)
  }

  #advance(): void {
    const status = this.#status
    if (status === undefined || this.#stopping) return
    const { config } = this.#options
    const { batchSize, numSteps } = this.#known()
    const totalSteps = config.totalSteps === -1 ? numSteps : config.totalSteps
    if (isComplete(status, { groupSize: config.groupSize, batchSize, totalSteps })) return this.#ended.resolve("steps")
    if (this.#items.exhausted && this.#workers.size === 0) return this.#ended.resolve("exhausted")
    const unseen = this.#sent - this.#sentAtStatus
    const limit = workerLimit({
      config,
      batchSize,
      maxWorkers:
        config.maxNumWorkers === -1 ? config.maxNumWorkersPerNode * this.#options.serverCount : config.maxNumWorkers,
      status: {
        ...status,
        queue_size: status.queue_size + unseen,
        self_queue_size: status.self_queue_size + unseen,
      },
      evaluating: this.#evaluation !== undefined,
    })
    while (this.#workers.size < limit && !this.#items.exhausted) this.#startWorker()
  }

  #startWorker(): void {
    const worker = this.#work()
      .catch((error: unknown) => this.#ended.reject(error))
      .finally(() => {
        this.#workers.delete(worker)
        this.#advance()
      })
    this.#workers.add(worker)
  }

  /** One item from taking it to its groups' acknowledgement. */
  async #work(): Promise<void> {
    const taken = await this.#items.take()
    if (taken === undefined) return
    try {
      const collected = await this.#collect(taken)
      if (collected.groups.length === 0) this.#drop("nothing", "no group came of the item")
      this.#items.addBacklog(collected.backlog ?? [])
      await this.#deliver(collected.groups, taken.item)
      this.#items.settle(taken)
    } catch (error) {
      if (this.#abort.signal.aborted) {
        this.#items.giveBack(taken, { countAttempt: false })
        return
      }
      const failure = toFailure(error, this.#abort.signal)
      this.#drop("rollout-failed", describeFailure(failure))
      this.#items.settle(taken)
    }
  }

  async #collect(taken: TakenItem<Item>): Promise<Collected<Item>> {
    const { environment, config, random, logger, openSession } = this.#options
    const group = new GroupRun<Config>({
      config,
      helpers: environment.helpers,
      random: random.fork(`item-${taken.number}`),
      signal: this.#abort.signal,
      logger,
      step: this.#status?.current_step ?? 0,
      openSession,
      onRolloutEnd: (rollout) => this.#countRollout(rollout),
    })
    return normalise(await environment.collectTrajectories(taken.item, group))
  }

  #countRollout(rollout: EndedRollout<unknown>): void {
    this.#summary.rollouts += 1
    if (rollout.status === "done") return
    this.#summary.rolloutsFailed += 1
    this.#options.logger.warn(`a rollout failed at ${describeFailure(rollout.failure)}`)
  }

  async #deliver(groups: readonly TrajectoryGroup[], item: Item): Promise<void> {
    const { environment, config, client, logger } = this.#options
    const ready: TrajectoryGroup[] = []
    for (const group of groups) {
      const processed = await environment.postprocess(group, item)
      if (processed === undefined) {
        this.#drop("postprocess", "postprocess gave nothing")
        continue
      }
      const { maxTokenLen } = this.#known()
      const { groupSize, ensureScoresAreNotSame } = config
      const fault = checkGroup(processed, { groupSize, ensureScoresAreNotSame, maxTokenLen })
      if (fault === undefined) ready.push(processed)
      else this.#drop(fault.reason, fault.detail)
    }
    if (ready.length === 0) return
    const { id } = this.#known()
    const wire = ready.map((group) => toWireGroup(group, id))
    const result = await sendGroups(wire, { client, signal: this.#abort.signal, logger })
    if (result.sent) {
      this.#sent += ready.length
      this.#summary.groupsSent += ready.length
    } else {
      this.#drop("refused", result.detail, ready.length)
    }
  }

  #drop(reason: DropReason, detail: string, count = 1): void {
    this.#summary.dropped[reason] = (this.#summary.dropped[reason] ?? 0) + count
    const level = reason === "equal-scores" ? "debug" : "warn"
    this.#options.logger[level](`dropped a group: ${detail}`, { reason })
  }

  #evaluate(step: number): void {
    if (this.#evaluation !== undefined) return
    const { environment, config, random, logger, openSession } = this.#options
    this.#evaluation = runEvaluation({
      environment,
      config,
      random: random.fork(`evaluation-${step}`),
      signal: this.#abort.signal,
      logger,
      step,
      openSession,
    })
      .then((result) => {
        if (result !== undefined) logger.info("evaluated", { step, ...result.metrics })
      })
      .catch((error: unknown) => {
        if (this.#abort.signal.aborted) return
        logger.error(`the evaluation failed: ${error instanceof Error ? error.message : String(error)}`, { step })
      })
      .finally(() => {
        this.#evaluation = undefined
        this.#advance()
      })
  }

  /** Lets what runs come to its end, as far as the kind of end allows. */
  async #drain(end: ServeSummary["end"]): Promise<void> {
    await this.#evaluation
    if (end === "steps") {
      if (this.#options.config.evalAtEnd) this.#evaluate(this.#status?.current_step ?? 0)
      await this.#evaluation
      // The queue holds more than the trainer will ask for.
      this.#abort.abort()
    } else {
      const grace = sleep(this.#options.config.shutdownGrace * 1000, undefined, { signal: this.#abort.signal })
      await Promise.race([Promise.all(this.#workers), grace])
      this.#abort.abort()
      await grace.catch(() => {})
    }
    await Promise.all(this.#workers)
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

  #summarise(end: ServeSummary["end"]): ServeSummary {
    return { end, steps: this.#status?.current_step ?? 0, items: this.#items.count, ...this.#summary }
  }

  #known(): Registration {
    if (this.#registration === undefined) throw new TypeError("used before registration")
    return this.#registration
  }
}

function normalise<Item>(
  collected: TrajectoryGroup | readonly TrajectoryGroup[] | Collected<Item> | undefined,
): Collected<Item> {
  if (collected === undefined) return { groups: [] }
  if (isList(collected)) return { groups: collected }
  return "groups" in collected ? collected : { groups: [collected] }
}

function isList<Value>(value: Value | readonly Value[] | { groups: readonly Value[] }): value is readonly Value[] {
  return Array.isArray(value)
}
