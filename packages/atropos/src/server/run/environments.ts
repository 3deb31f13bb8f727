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

/** Sums over the connected environments, added up in order of registration. */
interface Totals {
  weight: number
  allocation: number
  /** Who has a minimum of at least one sequence. */
  readonly minimums: Minimum[]
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
  readonly #byOwner = new Map<Owner, Environment>()
  #roundedSum = 0
  #roundedFor = 0
  /** Nobody who may lapse was last seen before this time. */
  #oldestSeen: number = Infinity

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
    this.#byOwner.set(owner, environment)
    this.#queue.owners.push(owner)
    this.#oldestSeen = Math.min(this.#oldestSeen, time)
    this.revision += 1
    // The newest is the last to be added up, so the sums stay what they would be.
    if (this.#totals !== null) this.#addTo(this.#totals, environment)
    return environment
  }

  setBatchSize(batchSize: number): void {
    this.#batchSize = batchSize
    this.#totals = null
    this.#roundedFor = 0
    this.revision += 1
  }

  disconnect(environment: Environment): void {
    environment.disconnected = true
    this.#connectionChanged(environment)
  }

  setLapsed(environment: Environment, lapsed: boolean): void {
    environment.lapsed = lapsed
    this.#oldestSeen = Math.min(this.#oldestSeen, environment.lastSeen)
    this.#connectionChanged(environment)
  }

  /** Who has not been heard of for `timeoutMs`. Looks at all of them only when one may have lapsed. */
  findLapsed(now: number, timeoutMs: number): Environment[] {
    if (now < this.#oldestSeen + timeoutMs) return []
    const found: Environment[] = []
    this.#oldestSeen = Infinity
    for (const environment of this.all) {
      if (!isConnected(environment)) continue
      if (environment.lastSeen + timeoutMs <= now) found.push(environment)
      else this.#oldestSeen = Math.min(this.#oldestSeen, environment.lastSeen)
    }
    return found
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

  #connectionChanged({ owner }: Environment): void {
    this.#totals = null
    this.#queue.changedOwners.add(owner)
    this.revision += 1
  }

  #sums(): Totals {
    if (this.#totals === null) {
      this.#totals = { weight: 0, allocation: 0, minimums: [] }
      for (const environment of this.all) this.#addTo(this.#totals, environment)
    }
    return this.#totals
  }

  #addTo(totals: Totals, environment: Environment): void {
    const { id, registration } = environment
    if (!isConnected(environment)) return
    totals.weight += lengthTimes(Math.max(0, registration.weight), registration)
    totals.allocation += registration.minBatchAllocation ?? 0
    const sequences = this.#minimumOf(environment)
    if (sequences >= 1) totals.minimums.push({ environment: id, sequences })
  }

  /** How many sequences of every batch are to come from it, before scaling. */
  #minimumOf(environment: Environment | undefined): number {
    if (environment === undefined || !isConnected(environment)) return 0
    return Math.floor(this.#batchSize * (environment.registration.minBatchAllocation ?? 0))
  }

  /** What others have queued counts in full groups of the largest size, less what is theirs by minimum. */
  #sumRounded(): number {
    const queue = this.#queue
    const largest = queue.largestSize
    if (this.#roundedFor !== largest) {
      this.#roundedFor = largest
      this.#roundedSum = 0
      this.#rounded.clear()
      queue.changedOwners.clear()
      queue.changedOwners.add(queue.unowned)
      // Who has nothing queued adds nothing.
      for (const { owner } of this.all) if (owner.queued > 0) queue.changedOwners.add(owner)
    }
    for (const owner of queue.changedOwners) {
      const minimum = this.#minimumOf(this.#byOwner.get(owner))
      const value = Math.max(0, Math.ceil(owner.queued / largest) * largest - minimum)
      this.#roundedSum += value - (this.#rounded.get(owner) ?? 0)
      if (value === 0) this.#rounded.delete(owner)
      else this.#rounded.set(owner, value)
    }
    queue.changedOwners.clear()
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
