import type { Batch } from "./batches.ts"
import { decodeColumn, encodeColumn } from "./columns.ts"
import { type GroupFacts, noSlot } from "./groups/group-table.ts"
import type { RecentPushesSnapshot } from "./recent-pushes.ts"
import type { EnvironmentRegistration, TrainerRegistration } from "./registration.ts"
import type { Run } from "./run.ts"

/** A run as JSON, its groups as columns. */
interface RunSnapshot {
  version: 1
  registration: TrainerRegistration | null
  started: boolean
  step: string
  latest: number | null
  latestHasLeft: boolean
  epoch: number
  nextGroupId: number
  superseded: number[]
  /** Older snapshots have none. */
  damaged?: number[]
  environments: {
    registration: EnvironmentRegistration
    disconnected: boolean
    lapsed: boolean
    pushed: number
    /** How many groups wait in its buffer. */
    buffered: number
  }[]
  batches: {
    firstId: number
    nextId: number
    returned: number[]
    /** Pairs of a batch and a hand-out. Older snapshots have none, nor `handouts`. */
    settledBy?: [number, number][]
    open: SavedBatch[]
  }
  pushes: RecentPushesSnapshot
  keys: { next: number; front: number }
  /** First those in the queue, then the environments' buffers, then the open batches. */
  groups: {
    queued: number
    ids: string
    keys: string
    sizes: string
    environments: string
    bytes: string
    steps: string
  }
}

interface SavedBatch {
  id: number
  groups: number
  epoch: number
  deadline: number | null
  delivered: boolean
  handouts?: number
}

/** Everything there is to know of a run, as one text: `restoreSnapshot` makes the same run of it. */
export function takeSnapshot(run: Run): string {
  const queued = slotsInQueue(run)
  const buffered = run.environments.all.map(({ buffer }) => [...buffer.slots()])
  const open = [...run.batches.open.values()]
  const slots = [...queued, ...buffered.flat(), ...open.flatMap((batch) => batch.slots)]
  const { table } = run
  const snapshot: RunSnapshot = {
    version: 1,
    registration: run.registration,
    started: run.started,
    step: run.step.toString(),
    latest: run.latest,
    latestHasLeft: run.latestHasLeft,
    epoch: run.epoch,
    nextGroupId: run.nextGroupId,
    superseded: [...run.freed],
    damaged: [...run.damaged],
    environments: run.environments.all.map(({ registration, disconnected, lapsed, pushed }, index) => ({
      registration,
      disconnected,
      lapsed,
      pushed,
      buffered: buffered[index]?.length ?? 0,
    })),
    batches: {
      firstId: run.batches.firstId,
      nextId: run.batches.nextId,
      returned: [...run.batches.returned],
      settledBy: [...run.batches.settledBy],
      open: open.map(({ id, slots: groups, epoch, deadline, delivered, handouts }) => {
        return { id, groups: groups.length, epoch, deadline, delivered, handouts }
      }),
    },
    pushes: run.pushes.snapshot,
    keys: run.queue.keyBounds,
    groups: {
      queued: queued.length,
      ids: encodeColumn(valuesOf(table.ids, slots)),
      keys: encodeColumn(valuesOf(table.keys, slots)),
      sizes: encodeColumn(valuesOf(table.sizes, slots)),
      environments: encodeColumn(valuesOf(table.environments, slots)),
      bytes: encodeColumn(valuesOf(table.bytes, slots)),
      steps: encodeColumn(valuesOf(table.steps, slots)),
    },
  }
  return JSON.stringify(snapshot)
}

/** Puts what a snapshot says into a new run. */
export function restoreSnapshot(run: Run, text: string): void {
  // Our own text, written by `takeSnapshot`: the store vouches that it is whole.
  const snapshot = JSON.parse(text) as RunSnapshot
  run.registration = snapshot.registration
  run.started = snapshot.started
  run.step = BigInt(snapshot.step)
  run.latest = snapshot.latest
  run.latestHasLeft = snapshot.latestHasLeft
  run.epoch = snapshot.epoch
  run.nextGroupId = snapshot.nextGroupId
  run.freed.push(...snapshot.superseded)
  run.damaged.push(...(snapshot.damaged ?? []))
  run.pushes.restore(snapshot.pushes)
  if (snapshot.registration !== null) {
    run.queue.setLimit(run.batchSize)
    run.environments.setBatchSize(run.batchSize)
  }
  const addNext = readGroups(run, snapshot.groups)
  for (const saved of snapshot.environments) {
    const environment = run.environments.add(saved.registration, 0)
    environment.pushed = saved.pushed
    if (saved.disconnected) run.environments.disconnect(environment)
    if (saved.lapsed) run.environments.setLapsed(environment, true)
  }
  for (let index = 0; index < snapshot.groups.queued; index++) run.queue.enqueue(addNext())
  for (const [id, { buffered }] of snapshot.environments.entries()) {
    for (let index = 0; index < buffered; index++) run.environments.all[id]?.buffer.put(addNext())
  }
  run.batches.firstId = snapshot.batches.firstId
  run.batches.nextId = snapshot.batches.nextId
  for (const id of snapshot.batches.returned) run.batches.returned.add(id)
  for (const [id, handout] of snapshot.batches.settledBy ?? []) run.batches.settledBy.set(id, handout)
  for (const { id, groups, epoch, deadline, delivered, handouts = 1 } of snapshot.batches.open) {
    const slots = Array.from({ length: groups }, addNext)
    if (!delivered) for (const slot of slots) run.queue.enqueueReserved(slot)
    const sequences = slots.reduce((sum, slot) => sum + run.table.sizeOf(slot), 0)
    const batch: Batch = { id, slots, sequences, epoch, deadline, delivered, handouts }
    run.batches.open.set(id, batch)
  }
  run.queue.restoreKeyBounds(snapshot.keys)
}

/** By size, each size in order: that is all the order a queue has. */
function slotsInQueue(run: Run): number[] {
  const slots: number[] = []
  for (const { head } of run.queue.classes.values()) {
    for (let slot = head; slot !== noSlot; slot = run.table.sizeNext[slot] ?? noSlot) slots.push(slot)
  }
  return slots
}

/** Adds the snapshot's groups to the table, one a call, and gives their slots. */
function readGroups(run: Run, groups: RunSnapshot["groups"]): () => number {
  const ids = decodeColumn(groups.ids)
  const keys = decodeColumn(groups.keys)
  const sizes = decodeColumn(groups.sizes)
  const environments = decodeColumn(groups.environments)
  const bytes = decodeColumn(groups.bytes)
  const steps = decodeColumn(groups.steps)
  let index = 0
  return () => {
    const facts: GroupFacts = {
      id: ids[index] ?? 0,
      size: sizes[index] ?? 0,
      environment: environments[index] ?? 0,
      bytes: bytes[index] ?? 0,
      step: steps[index] ?? 0,
    }
    return run.table.add(facts, keys[index++] ?? 0)
  }
}

function valuesOf(column: Float64Array | Int32Array, slots: readonly number[]): Float64Array {
  const values = new Float64Array(slots.length)
  for (let index = 0; index < slots.length; index++) values[index] = column[slots[index] ?? 0] ?? 0
  return values
}
