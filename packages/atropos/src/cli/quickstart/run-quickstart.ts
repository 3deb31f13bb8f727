// The whole loop on one machine: four processes that talk HTTP, watched until the model has learned its task.
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

import type { CommandContext } from "../command.ts"
import { loadEnvironmentClass } from "../environment/load-environment-class.ts"
import type { QuickstartEvent, ReportEvent, StepEvent } from "./events.ts"
import { measureHeldOut } from "./held-out.ts"
import {
  batchSize,
  environmentCommand,
  environmentName,
  environmentSettings,
  policyCommand,
  serverCommand,
  trainerCommand,
} from "./part-commands.ts"
import { Part, partDied, type PartOptions } from "./part.ts"

export interface QuickstartOptions {
  seed: number
  /** Budget of the loop. */
  minutes: number
  /** Mean reward at which to stop. */
  target: number
  /** Share of held-out strings that must be right as well. */
  heldOutTarget: number
  /** The file that starts `atropos`. */
  bin: string
  /** Where logs, checkpoints and the report go. */
  runDirectory: string
  context: CommandContext
  /** Stops the run; the context's own signal does not. */
  signal: AbortSignal
  onEvent: (event: QuickstartEvent) => void
}

const listenTimeoutMs = 120_000
const stopGraceMs = 10_000
const noticeMs = 1000
/** Batches over which the mean reward has to be at the target. */
const rewardWindow = 5
/** Steps between two looks at the held-out strings. */
const stepsBetweenLooks = 10

/**
 * Runs until the target is reached or the budget is spent. Rejects when a part dies (`part-failed`) and with the
 * signal's reason when that aborts; no part outlives the call.
 */
export async function runQuickstart(options: QuickstartOptions): Promise<ReportEvent> {
  const quickstart = new Quickstart(options)
  try {
    return await quickstart.run()
  } finally {
    await quickstart.stop()
  }
}

class Quickstart {
  readonly #options: QuickstartOptions
  readonly #parts: Part[] = []
  readonly #broken = Promise.withResolvers<never>()
  readonly #abort = new AbortController()
  readonly #steps: StepEvent[] = []
  #newStep = Promise.withResolvers<void>()
  /** Parts that are being stopped, whose end is no failure. */
  readonly #stopping = new Set<string>()
  #startedAt = 0

  constructor(options: QuickstartOptions) {
    this.#options = options
    this.#broken.promise.catch(() => {})
    const stop = (): void => this.#broken.reject(options.signal.reason)
    if (options.signal.aborted) stop()
    else options.signal.addEventListener("abort", stop, { once: true })
  }

  async run(): Promise<ReportEvent> {
    const { seed, runDirectory, onEvent, minutes, context } = this.#options
    await mkdir(join(runDirectory, "logs"), { recursive: true })
    const environmentClass = await loadEnvironmentClass(environmentName, context.workingDirectory)

    const server = this.#start("trajectory-server", serverCommand(runDirectory))
    const policy = this.#start("policy", policyCommand(seed, runDirectory))
    const addresses = { server: await this.#address(server), policy: await this.#address(policy) }
    const settings = environmentSettings(addresses, seed, runDirectory)
    const measure = (): Promise<number> =>
      this.#whileWhole(measureHeldOut(environmentClass, settings, { ...context, signal: this.#abort.signal }))
    const before = await measure()

    this.#startedAt = performance.now()
    const trainer = this.#start("trainer", trainerCommand(addresses, runDirectory), (event) => this.#onStep(event))
    const environment = this.#start("environment", environmentCommand(settings))
    onEvent({
      event: "parts",
      parts: [
        { name: server.name, pid: server.pid, address: addresses.server },
        { name: policy.name, pid: policy.pid, address: addresses.policy },
        { name: environment.name, pid: environment.pid, address: null },
        { name: trainer.name, pid: trainer.pid, address: null },
      ],
      runDirectory,
    })

    const reached = await this.#learn(minutes * 60, measure)
    const seconds = this.#seconds()
    const steps = this.#steps.length
    await this.#stop("trainer", "environment")
    const report: ReportEvent = {
      event: "report",
      reached,
      reward: { start: this.#steps[0]?.reward ?? 0, end: this.#recentReward() },
      heldOut: { before, after: await measure() },
      steps,
      rollouts: steps * batchSize,
      seconds,
    }
    await writeFile(join(runDirectory, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`)
    onEvent(report)
    return report
  }

  /** Ends what still runs, those that ask before those that answer. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#stop("trainer", "environment")
    await this.#stop("policy", "trajectory-server")
  }

  async #stop(...names: readonly string[]): Promise<void> {
    for (const name of names) this.#stopping.add(name)
    await Promise.all(this.#parts.filter(({ name }) => names.includes(name)).map((part) => part.stop(stopGraceMs)))
  }

  #start(name: string, argv: readonly string[], onEvent?: PartOptions["onEvent"]): Part {
    const { bin, context, runDirectory } = this.#options
    const part = new Part({
      name,
      argv,
      bin,
      workingDirectory: context.workingDirectory,
      logDirectory: join(runDirectory, "logs"),
      ...(onEvent === undefined ? {} : { onEvent }),
    })
    this.#parts.push(part)
    void part.ended.then((end) => {
      if (!this.#stopping.has(name)) this.#broken.reject(partDied(end))
    })
    return part
  }

  #address(part: Part): Promise<string> {
    return this.#whileWhole(part.listening(listenTimeoutMs, this.#abort.signal))
  }

  /** What comes of `work`, unless a part dies or the run is stopped first. */
  async #whileWhole<Value>(work: Promise<Value>): Promise<Value> {
    const failedFirst = work.catch(async (error: unknown) => {
      // A part that dies breaks connections before its end is noticed: the end is the better message.
      await Promise.race([this.#broken.promise, sleep(noticeMs)])
      throw error
    })
    // When the race is lost nobody waits for it any more.
    failedFirst.catch(() => {})
    return Promise.race([this.#broken.promise, failedFirst])
  }

  /** Waits step by step until reward and held-out strings are where they should be, or the time is up. */
  async #learn(budgetSeconds: number, measure: () => Promise<number>): Promise<boolean> {
    const { target, heldOutTarget } = this.#options
    const timer = setTimeout(() => this.#newStep.resolve(), budgetSeconds * 1000)
    try {
      let nextLook = rewardWindow
      while (this.#seconds() < budgetSeconds) {
        await this.#whileWhole(this.#newStep.promise)
        this.#newStep = Promise.withResolvers()
        if (this.#steps.length < nextLook || this.#recentReward() < target) continue
        const heldOut = await measure()
        // Training went on during the measurement, and the report tells the reward of now.
        if (heldOut >= heldOutTarget && this.#recentReward() >= target) return true
        nextLook = this.#steps.length + stepsBetweenLooks
      }
      return false
    } finally {
      clearTimeout(timer)
    }
  }

  #onStep({ event, step, metrics }: Readonly<Record<string, unknown>>): void {
    if (event !== "step" || this.#stopping.has("trainer") || !isMetrics(metrics)) return
    const told: StepEvent = {
      event: "step",
      step: Number(step),
      reward: metrics["reward/mean"] ?? 0,
      exact: metrics["reward/full_share"] ?? 0,
      tokensPerSecond: metrics["time/tokens_per_second"] ?? 0,
      staleness: metrics["staleness/mean"] ?? 0,
      seconds: this.#seconds(),
    }
    this.#steps.push(told)
    this.#options.onEvent(told)
    this.#newStep.resolve()
  }

  #recentReward(): number {
    const last = this.#steps.slice(-rewardWindow)
    return last.reduce((total, { reward }) => total + reward, 0) / Math.max(1, last.length)
  }

  #seconds(): number {
    return (performance.now() - this.#startedAt) / 1000
  }
}

function isMetrics(value: unknown): value is Readonly<Record<string, number>> {
  return typeof value === "object" && value !== null && Object.values(value).every((entry) => typeof entry === "number")
}
