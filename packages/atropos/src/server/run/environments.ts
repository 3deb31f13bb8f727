import { GroupBuffer } from "./groups/group-buffer.ts"
import { createOwner, type GroupQueue, type Owner } from "./groups/group-queue.ts"
import type { Minimum } from "./forming/minimum-rule.ts"
import { countable, type EnvironmentRegistration } from "./registration.ts"

/** An environment of a run. */
export interface Environment {
  readonly id: number
  readonly registration: EnvironmentRegistration
  readonly wandbName: string
  readonly groupSize: number
  readonly buffer: GroupBuffer
  readonly owner: Owner
  /** It said that it leaves, and never comes back. */
  disconnected: boolean
  /** It has not been heard of for long: it counts as disconnected until its next call. */
  lapsed: boolean
  /** When it was last heard of, in milliseconds since 1970. */
  lastSeen: number
  /** Groups that arrived, for metrics. */
  pushed: number
}

/** What `/status-env` says of the queue and of one environment. */
export interface EnvironmentStatus {
  readonly queueSize: number
  readonly selfQueueSize: number
  readonly unallocatedFraction: number
  readonly maxGroupSize: number
  readonly weight: number
  readonly registered: boolean
}

/** Sums over the connected environments; they change only when one comes, goes or the batch size changes. */
interface Totals {
  readonly weight: number
  readonly allocation: number
  /** Who has a minimum of at least one sequence, in order of registration. */
  readonly minimums: readonly Minimum[]
  /** The minimum of each connected environment that has one, also 0. */
  readonly minimumOf: ReadonlyMap<Owner, number>
}

/** The environments of a run, in order of registration, and the sums over them kept up to date. */
export class EnvironmentTable {
  readonly all: Environment[] = []
  readonly #queue: GroupQueue
  readonly #named = new Map<string, number>()
  #batchSize = 0
  #totals: Totals | null = null
  /** Per owner, its queued sequences in full groups of the largest size, above its minimum; and their sum. */
  readonly #rounded = new Map<Owner, number>()
  #roundedSum = 0
  #roundedFor = 0
  /** Nobody lapses before this time. */
  #nextLapse: number = Infinity

  constructor(queue: GroupQueue) {
    this.#queue = queue
  }

  /** Grows with every change of who is connected. */
  revision = 0

  add(registration: EnvironmentRegistration, time: number): Environment {
    const before = this.#named.get(registration.desiredName) ?? 0
    this.#named.set(registration.desiredName, before + 1)
    const owner = createOwner()
    const environment: Environment = {
      id: this.all.length,
      registration,
      wandbName: `${registration.desiredName}_${before}`,
      groupSize: countable(registration.groupSize),
      buffer: new GroupBuffer(this.#queue.table, this.#queue.sizeLinks),
      owner,
      disconnected: false,
      lapsed: false,
      lastSeen: time,
      pushed: 0,
    }
    this.all.push(environment)
    this.#queue.owners.push(owner)
    this.#changed()
    this.#nextLapse = -Infinity
    return environment
  }

  setBatchSize(batchSize: number): void {
    this.#batchSize = batchSize
    this.#changed()
  }

  disconnect(environment: Environment): void {
    environment.disconnected = true
    this.#changed()
  }

  setLapsed(environment: Environment, lapsed: boolean): void {
    environment.lapsed = lapsed
    this.#nextLapse = -Infinity
    this.#changed()
  }

  /** Who has not been heard of for `timeoutMs`. Looks at all of them only when one may have lapsed. */
  findLapsed(now: number, timeoutMs: number): Environment[] {
    if (now < this.#nextLapse) return []
    const found: Environment[] = []
    this.#nextLapse = Infinity
    for (const environment of this.all) {
      if (environment.disconnected || environment.lapsed) continue
      const due = environment.lastSeen + timeoutMs
      if (due <= now) found.push(environment)
      else this.#nextLapse = Math.min(this.#nextLapse, due)
    }
    return found
  }

  /** A time before which nobody lapses, as far as is known. */
  get nextLapse(): number {
    return this.#nextLapse
  }

  get minimums(): readonly Minimum[] {
    return this.#sums().minimums
  }

  get connected(): number {
    return this.all.reduce((count, environment) => count + (isConnected(environment) ? 1 : 0), 0)
  }

  statusOf(environment: Environment | undefined): EnvironmentStatus {
    const queue = this.#queue
    const { weight: weights, allocation } = this.#sums()
    const largest = queue.largestSize
    const shared = { unallocatedFraction: 1 - Math.min(1, allocation), maxGroupSize: largest }
    if (environment === undefined) {
      const queueSize = Math.floor(queue.sequences / largest)
      return { ...shared, queueSize, selfQueueSize: 0, weight: 1, registered: false }
    }
    const { owner, groupSize, registration } = environment
    const others = this.#sumRounded() - (this.#rounded.get(owner) ?? 0)
    const own = lengthTimes(registration.weight, registration)
    return {
      ...shared,
      queueSize: Math.floor((owner.queued + others) / groupSize),
      selfQueueSize: Math.floor(owner.queued / groupSize),
      weight: weights === 0 ? 1 : Math.max(0.01, own / weights),
      registered: true,
    }
  }

  #changed(): void {
    this.#totals = null
    this.revision += 1
  }

  #sums(): Totals {
    if (this.#totals !== null) return this.#totals
    let weight = 0
    let allocation = 0
    const minimums: Minimum[] = []
    const minimumOf = new Map<Owner, number>()
    for (const environment of this.all) {
      if (!isConnected(environment)) continue
      const { id, registration, owner } = environment
      weight += lengthTimes(Math.max(0, registration.weight), registration)
      if (registration.minBatchAllocation === null) continue
      allocation += registration.minBatchAllocation
      const sequences = Math.floor(this.#batchSize * registration.minBatchAllocation)
      minimumOf.set(owner, sequences)
      if (sequences >= 1) minimums.push({ environment: id, sequences })
    }
    this.#totals = { weight, allocation, minimums, minimumOf }
    this.#roundedFor = 0
    return this.#totals
  }

  /** What others have queued counts in full groups of the largest size, less what is theirs by minimum. */
  #sumRounded(): number {
    const { minimumOf } = this.#sums()
    const largest = this.#queue.largestSize
    const changed = this.#queue.changedOwners
    if (this.#roundedFor !== largest) {
      this.#roundedFor = largest
      this.#roundedSum = 0
      this.#rounded.clear()
      for (const owner of [this.#queue.unowned, ...this.#queue.owners]) changed.add(owner)
    }
    for (const owner of changed) {
      const value = Math.max(0, Math.ceil(owner.queued / largest) * largest - (minimumOf.get(owner) ?? 0))
      this.#roundedSum += value - (this.#rounded.get(owner) ?? 0)
      this.#rounded.set(owner, value)
    }
    changed.clear()
    return this.#roundedSum
  }
}

export function isConnected(environment: Pick<Environment, "disconnected" | "lapsed">): boolean {
  return !environment.disconnected && !environment.lapsed
}

/**
 * The length of its sequences counts, so that environments share tokens rather than sequences. Both factors stay
 * below the root of the largest double, so that sums and quotients are finite whatever was registered.
 */
function lengthTimes(weight: number, { maxTokenLength }: EnvironmentRegistration): number {
  return clampFactor(Number(maxTokenLength)) * clampFactor(weight)
}

const largestFactor = 1e150

function clampFactor(value: number): number {
  return Math.max(-largestFactor, Math.min(largestFactor, value))
}
