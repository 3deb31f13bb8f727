import { type Batch, BatchTable } from "./batches.ts"
import { type Environment, EnvironmentTable } from "./environments.ts"
import type { ArrivingGroup, RunEvent } from "./events.ts"
import { chooseBatch, findObstacle, type Obstacle } from "./forming/choose-batch.ts"
import { GroupQueue } from "./groups/group-queue.ts"
import { GroupTable, noEnvironment } from "./groups/group-table.ts"
import { type PushOutcome, RecentPushes } from "./recent-pushes.ts"
import { countable, isSameRegistration, type TrainerRegistration } from "./registration.ts"

/** What applying an event comes to, by type of event. */
export interface RunResults {
  register: "new" | "same" | "updated"
  start: void
  "register-environment": Environment | null
  "disconnect-environment": boolean
  push: PushOutcome
  "form-batch": Batch | null
  "hand-out-again": void
  "deliver-batch": void
  "acknowledge-batch": void
  "set-aside-group": void
  "return-batch": void
  "lapse-environments": void
  "resume-environment": void
  "answer-pushes": void
  reset: void
}

type EventOf<Type extends RunEvent["type"]> = Extract<RunEvent, { type: Type }>

export interface RunOptions {
  /** How many Idempotency-Keys are known. @default 65536 */
  maxKeys?: number
}

export const defaultMaxKeys = 65_536

/**
 * One run: registration, step, environments, buffers, queue and batches, of groups only what is known about them.
 *
 * It is a state machine without I/O: `apply` is the only way to change it and gives the same result for the same
 * events. No call walks the queue; forming a batch costs what is in the batch.
 */
export class Run {
  readonly #maxKeys: number
  registration: TrainerRegistration | null = null
  started = false
  step = 0n
  /** The newest group that came to the queue. */
  latest: number | null = null
  /** Whether the latest group's batch has left: then only this keeps its bytes. */
  latestHasLeft = false
  /** Grows when batches chosen before no longer count: another registration, a reset. */
  epoch = 0
  /** Groups that could not be read: their bytes stay in the store for whoever wants to look at them. */
  readonly damaged: number[] = []
  /** Smaller than the id of any group to come. */
  nextGroupId = 0
  /** Groups that nobody needs any more, again after a recovery. Whoever frees them takes them out. */
  readonly freed: number[] = []
  readonly batches: BatchTable = new BatchTable()
  table: GroupTable = new GroupTable()
  queue: GroupQueue = new GroupQueue(this.table)
  environments: EnvironmentTable = new EnvironmentTable(this.queue)
  pushes: RecentPushes
  #obstacle: { revisions: readonly number[]; found: Obstacle | null } | null = null

  constructor(options: RunOptions = {}) {
    this.#maxKeys = options.maxKeys ?? defaultMaxKeys
    this.pushes = new RecentPushes(this.#maxKeys)
  }

  get batchSize(): number {
    return this.registration === null ? Infinity : countable(this.registration.batchSize)
  }

  /** Why a poll would get no batch, or null when it would get one. */
  get obstacle(): Obstacle | "not-registered" | null {
    if (this.registration === null) return "not-registered"
    const revisions = [this.queue.revision, this.environments.revision]
    if (this.#obstacle?.revisions.every((revision, index) => revision === revisions[index]) !== true) {
      this.#obstacle = { revisions, found: findObstacle(this.queue, this.environments.minimums, this.batchSize) }
    }
    return this.#obstacle?.found ?? null
  }

  /** The groups of the next batch, or null when there is none. */
  chooseBatch(): number[] | null {
    if (this.obstacle !== null) return null
    const slots = chooseBatch(this.queue, this.environments.minimums, this.batchSize)
    return slots?.map((slot) => this.table.idOf(slot)) ?? null
  }

  /** The group that stays readable when a batch is done: the latest of all, if it is in there. */
  keptOf(batch: Batch): number | null {
    const { latest } = this
    return latest !== null && batch.slots.some((slot) => this.table.idOf(slot) === latest) ? latest : null
  }

  /** After a recovery: nobody waits for an answer any more, and time counts from now for those who were there. */
  wakeUp(now: number): void {
    this.pushes.loseAll(now)
    for (const environment of this.environments.all) environment.lastSeen = now
  }

  apply<Type extends RunEvent["type"]>(event: EventOf<Type>): RunResults[Type] {
    const handler: (event: EventOf<Type>) => RunResults[Type] = this.#handlers[event.type as Type]
    return handler(event)
  }

  readonly #handlers: { readonly [Type in RunEvent["type"]]: (event: EventOf<Type>) => RunResults[Type] } = {
    register: ({ registration }) => this.#register(registration),
    start: () => {
      if (this.registration !== null) this.started = true
    },
    "register-environment": ({ registration, time }) =>
      this.started ? this.environments.add(registration, time) : null,
    "disconnect-environment": ({ environment: id }) => {
      const environment = this.environments.all[id]
      if (environment !== undefined && !environment.disconnected) this.environments.disconnect(environment)
      return environment !== undefined
    },
    push: (event) => this.#push(event),
    "form-batch": ({ epoch, groups }) => this.#formBatch(epoch, groups),
    "hand-out-again": ({ batch: id }) => {
      const batch = this.batches.open.get(id)
      if (batch !== undefined && !batch.delivered) batch.handouts += 1
    },
    "deliver-batch": ({ batch: id, deadline, kept }) => {
      const batch = this.batches.open.get(id)
      if (batch === undefined || batch.delivered) return
      this.#deliver(batch)
      batch.deadline = deadline
      if (deadline === null) this.#settle(batch, kept)
    },
    "acknowledge-batch": ({ batch: id, kept }) => {
      const batch = this.batches.open.get(id)
      if (batch === undefined) return
      if (!batch.delivered) this.#deliver(batch)
      this.#settle(batch, kept)
    },
    "set-aside-group": ({ batch: id, group }) => {
      const batch = this.batches.open.get(id)
      if (batch === undefined || batch.delivered) return
      this.#dissolve(batch, group)
      this.damaged.push(group)
      if (this.latest === group) this.latest = null
    },
    "return-batch": ({ batch: id }) => {
      const batch = this.batches.open.get(id)
      if (batch === undefined || !batch.delivered) return
      this.batches.markReturned(id)
      this.queue.enqueueAtFront(batch.slots)
    },
    "lapse-environments": ({ environments }) => {
      for (const id of environments) {
        const environment = this.environments.all[id]
        if (environment !== undefined) this.environments.setLapsed(environment, true)
      }
    },
    "resume-environment": ({ environment: id, time }) => {
      const environment = this.environments.all[id]
      if (environment === undefined) return
      environment.lastSeen = Math.max(environment.lastSeen, time)
      if (environment.lapsed) this.environments.setLapsed(environment, false)
    },
    "answer-pushes": ({ digests }) => {
      for (const digest of digests) this.pushes.answered(digest)
    },
    reset: () => this.#reset(),
  }

  #register(registration: TrainerRegistration): RunResults["register"] {
    const before = this.registration
    if (before !== null && isSameRegistration(before, registration)) return "same"
    this.#dissolveBatches()
    this.registration = registration
    this.step = BigInt(registration.startingStep)
    this.epoch += 1
    this.queue.setLimit(this.batchSize)
    this.environments.setBatchSize(this.batchSize)
    return before === null ? "new" : "updated"
  }

  /** Batches whose answer was not written in full were formed for the old registration: their groups go back. */
  #dissolveBatches(): void {
    for (const batch of [...this.batches.formed()].toReversed()) this.#dissolve(batch)
  }

  /** Its groups go back to their old places, but for the one that leaves. */
  #dissolve(batch: Batch, leaving: number | null = null): void {
    this.batches.markReturned(batch.id)
    for (const slot of batch.slots.toReversed()) {
      if (this.table.idOf(slot) !== leaving) this.queue.restore(slot)
      else {
        this.queue.discount(slot)
        this.table.remove(slot)
      }
    }
  }

  #push(event: EventOf<"push">): PushOutcome {
    let buffered = 0
    let bufferSize = 0
    for (const group of event.groups) {
      const left = this.#arrive(group, event)
      if (left === null) continue
      buffered += 1
      bufferSize = left
    }
    const outcome = { groups: event.groups.length, buffered, bufferSize }
    this.pushes.add(event, outcome)
    return outcome
  }

  /** Takes a group in; what its environment's buffer holds afterwards, or null when it went to the queue. */
  #arrive(group: ArrivingGroup, { time, step }: EventOf<"push">): number | null {
    const environment = group.environment === null ? undefined : this.environments.all[group.environment]
    this.nextGroupId = Math.max(this.nextGroupId, group.id + 1)
    const slot = this.table.add(
      {
        id: group.id,
        size: group.size,
        environment: environment?.id ?? noEnvironment,
        bytes: group.bytes,
        step,
      },
      this.queue.newKey(),
    )
    if (environment !== undefined) {
      environment.lastSeen = Math.max(environment.lastSeen, time)
      environment.pushed += 1
    }
    if (environment === undefined || group.size >= environment.groupSize) {
      this.#enqueue(slot)
      return null
    }
    for (const complete of environment.buffer.add(slot, environment.groupSize)) {
      this.table.keys[complete] = this.queue.newKey()
      this.#enqueue(complete)
    }
    return environment.buffer.sequences
  }

  #enqueue(slot: number): void {
    this.queue.enqueue(slot)
    if (this.latest !== null && this.latestHasLeft) this.freed.push(this.latest)
    this.latest = this.table.idOf(slot)
    this.latestHasLeft = false
  }

  #formBatch(epoch: number, groups: readonly number[]): Batch | null {
    if (epoch !== this.epoch) return null
    const slots = groups.map((id) => this.table.slotOf(id)).filter((slot) => slot !== undefined)
    for (const slot of slots) this.queue.reserve(slot)
    const sequences = slots.reduce((sum, slot) => sum + this.table.sizeOf(slot), 0)
    return this.batches.add(slots, sequences, epoch)
  }

  #deliver(batch: Batch): void {
    batch.delivered = true
    this.step += 1n
    for (const slot of batch.slots) this.queue.discount(slot)
  }

  #settle(batch: Batch, kept: number | null): void {
    this.batches.settle(batch)
    for (const slot of batch.slots) {
      const id = this.table.idOf(slot)
      this.table.remove(slot)
      if (id === kept && id === this.latest) this.latestHasLeft = true
      else this.freed.push(id)
    }
  }

  #reset(): void {
    this.registration = null
    this.started = false
    this.step = 0n
    this.latest = null
    this.latestHasLeft = false
    this.epoch += 1
    this.freed.length = 0
    this.damaged.length = 0
    this.batches.clear()
    this.table = new GroupTable()
    this.queue = new GroupQueue(this.table)
    this.environments = new EnvironmentTable(this.queue)
    this.pushes = new RecentPushes(this.#maxKeys)
    this.#obstacle = null
  }
}
