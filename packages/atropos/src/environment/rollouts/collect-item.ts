import { counted } from "../../runtime/counted.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Collected, Environment } from "../environment.ts"
import { checkGroup, type DropReason, type GroupLimits } from "../groups/check-group.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { Random } from "../random.ts"
import { GroupRun } from "./group-run.ts"
import { describeFailure, type RolloutFailure, toFailure } from "./rollout-failure.ts"
import { type EndedRollout, type OpenSession, untilAborted } from "./run-rollout.ts"

export interface CollectOptions<Item, Config extends EnvironmentConfig> {
  environment: Environment<Item, Config>
  item: Item
  config: Config
  limits: GroupLimits
  random: Random
  signal: AbortSignal
  logger: Logger
  step: number
  openSession: OpenSession
  providerIsWell?: () => boolean
  onRolloutEnd?: (rollout: EndedRollout<unknown>) => void
}

export interface Drop {
  reason: DropReason
  detail: string
  group?: TrajectoryGroup
}

/** What one item came to. */
export interface CollectedItem<Item> {
  /** Checked, and fit to be sent. */
  groups: TrajectoryGroup[]
  dropped: Drop[]
  backlog: readonly Item[]
  /** Of rollouts, and of the group's own work. */
  failures: RolloutFailure[]
  /** Whether the environment made any group, sent or not. */
  productive: boolean
}

/** Runs an item's rollouts and checks its groups. Resolves whatever the environment's code does. */
export async function collectItem<Item, Config extends EnvironmentConfig>(
  options: CollectOptions<Item, Config>,
): Promise<CollectedItem<Item>> {
  const { environment, item, limits, config } = options
  const failures: RolloutFailure[] = []
  const excuse = (failure: RolloutFailure): RolloutFailure =>
    failure.boundary === "timeout" && options.providerIsWell?.() === false
      ? { boundary: "provider", cause: failure.cause, retryable: true }
      : failure
  const ownTime = new OwnTime(config.workerTimeout, options.signal)
  const group = new GroupRun<Config>({
    ...options,
    helpers: environment.helpers,
    signal: ownTime.signal,
    onRunning: (running) => (running ? ownTime.stop() : ownTime.start()),
    onRolloutEnd: (rollout) => {
      if (rollout.status === "failed") failures.push(excuse(rollout.failure))
      options.onRolloutEnd?.(rollout)
    },
  })
  ownTime.start()
  try {
    const work = async (): Promise<CollectedItem<Item>> => {
      const { groups, backlog = [] } = normalise(await environment.collectTrajectories(item, group))
      const checked = await checkAll(groups, environment, item, limits)
      return { ...checked, backlog, failures, productive: groups.length > 0 }
    }
    return blame(await untilAborted(work(), ownTime.signal))
  } catch (error) {
    failures.push(excuse(toFailure(error, ownTime.signal)))
    return blame({ groups: [], dropped: [], backlog: [], failures, productive: false })
  } finally {
    ownTime.end()
  }
}

async function checkAll<Item>(
  groups: readonly TrajectoryGroup[],
  environment: Pick<Environment<Item>, "postprocess">,
  item: Item,
  limits: GroupLimits,
): Promise<{ groups: TrajectoryGroup[]; dropped: Drop[] }> {
  const ready: TrajectoryGroup[] = []
  const dropped: Drop[] = []
  for (const group of groups) {
    const processed = await environment.postprocess(group, item)
    if (processed === undefined) {
      dropped.push({ reason: "postprocess", detail: "postprocess gave nothing", group })
      continue
    }
    const fault = checkGroup(processed, limits)
    if (fault === undefined) ready.push(processed)
    else dropped.push({ ...fault, group: processed })
  }
  return { groups: ready, dropped }
}

/** Says of groups that are missing or short because rollouts failed that this is why. */
function blame<Item>(collected: CollectedItem<Item>): CollectedItem<Item> {
  const { groups, dropped, failures } = collected
  const [first] = failures
  if (first === undefined) {
    if (collected.productive || groups.length + dropped.length > 0) return collected
    return { ...collected, dropped: [{ reason: "nothing", detail: "the environment made no group of the item" }] }
  }
  const detail = `${counted(failures.length, "rollout")} failed, the first at ${describeFailure(first)}`
  const short = (drop: Drop): boolean => drop.reason === "size" || drop.reason === "empty"
  const blamed = dropped.map((drop): Drop => (short(drop) ? { ...drop, reason: "rollout-failed", detail } : drop))
  if (groups.length + dropped.length === 0) blamed.push({ reason: "rollout-failed", detail })
  return { ...collected, dropped: blamed }
}

/** Limits the time that a group spends outside its rollouts, which have limits of their own. */
class OwnTime {
  readonly signal: AbortSignal
  readonly #limit = new AbortController()
  readonly #seconds: number
  #timer: NodeJS.Timeout | undefined
  #ended = false

  constructor(seconds: number, signal: AbortSignal) {
    this.#seconds = seconds
    this.signal = AbortSignal.any([signal, this.#limit.signal])
  }

  start(): void {
    if (this.#seconds <= 0 || this.#ended) return
    this.stop()
    this.#timer = setTimeout(() => {
      const message = `the group's own work took longer than worker_timeout (${this.#seconds} s)`
      this.#limit.abort(new DOMException(message, "TimeoutError"))
    }, this.#seconds * 1000)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  /** For good: rollouts of a group that was given up may still end, and a timer then would keep the process alive. */
  end(): void {
    this.#ended = true
    this.stop()
  }
}

function normalise<Item>(
  collected: TrajectoryGroup | readonly TrajectoryGroup[] | Collected<Item> | undefined,
): Collected<Item> {
  if (collected === undefined) return { groups: [] }
  if (isList(collected)) return { groups: collected }
  return "groups" in collected ? collected : { groups: [collected] }
}

// Array.isArray does not narrow readonly arrays away.
function isList<Value>(value: Value | readonly Value[]): value is readonly Value[] {
  return Array.isArray(value)
}
