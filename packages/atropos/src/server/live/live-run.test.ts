import fc from "fast-check"
import { expect, test } from "vitest"

import { silentLogger } from "../../runtime/logger.ts"
import type { TrainerRegistration } from "../run/registration.ts"
import { decodeColumn } from "../run/columns.ts"
import type { Run } from "../run/run.ts"
import { takeSnapshot } from "../run/snapshot.ts"
import { createMemoryStore } from "../stores/memory-store.ts"
import type { Commit, Store } from "../stores/store.ts"
import { BatchDesk, type Handout } from "./batch-desk.ts"
import { LiveRun } from "./live-run.ts"
import { Presence } from "./presence.ts"

const registration = (batchSize: number, startingStep = 0): TrainerRegistration => ({
  wandbGroup: "g",
  wandbProject: "p",
  batchSize: String(batchSize),
  maxTokenLength: "64",
  checkpointDir: "/c",
  saveCheckpointInterval: "1",
  startingStep: String(startingStep),
  numSteps: "10",
})

/** A store whose commits take a while, and of which some fail: with them go those that were called behind them. */
class SlowStore implements Store {
  readonly kind = "slow"
  // Of what is released nothing stays.
  readonly #inner = createMemoryStore({ retainBytes: 0 })
  readonly #delays: Iterator<number>
  readonly #failures: Iterator<boolean>
  #queue: { work: () => Promise<void>; resolve: () => void; reject: (error: Error) => void }[] = []
  #busy = false
  compactionDue = false

  constructor(delays: readonly number[], failures: readonly boolean[]) {
    this.#delays = cycle(delays)
    this.#failures = cycle(failures)
  }

  get payloadBytes() {
    return this.#inner.payloadBytes
  }
  recover = () => this.#inner.recover()
  read = (groupId: number) => this.#inner.read(groupId)
  close = async () => {}
  commit = (commit: Commit) => this.#enqueue(() => this.#inner.commit(commit))
  compact = (snapshot: string) => this.#enqueue(() => this.#inner.compact(snapshot))

  #enqueue(work: () => Promise<void>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#queue.push({ work, resolve, reject })
    if (!this.#busy) void this.#pump()
    return promise
  }

  async #pump(): Promise<void> {
    this.#busy = true
    for (let next = this.#queue[0]; next !== undefined; next = this.#queue[0]) {
      for (let turns = this.#delays.next().value as number; turns > 0; turns--) await new Promise(setImmediate)
      if (this.#failures.next().value === true) {
        for (const { reject } of this.#queue.splice(0)) reject(new Error("no room"))
      } else {
        this.#queue.shift()
        await next.work()
        next.resolve()
      }
    }
    this.#busy = false
  }
}

function* cycle<Value>(values: readonly Value[]): Generator<Value> {
  for (let index = 0; ; index++) yield values[index % values.length]!
}

/** All that a snapshot says but what the next commit frees, which a recovery may free again. */
function describeRun(run: Run): unknown {
  const { superseded: _, groups, ...rest } = JSON.parse(takeSnapshot(run)) as Record<string, unknown>
  const columns = Object.entries(groups as Record<string, string>).filter(([name]) => name !== "queued")
  const rows = [...decodeColumn(columns[0]![1])].map((_id, row) =>
    Object.fromEntries(columns.map(([name, text]) => [name, decodeColumn(text)[row]])),
  )
  return { ...rest, groups: rows.toSorted((a, b) => a["ids"]! - b["ids"]!) }
}

const action = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant("register" as const), batchSize: fc.constantFrom(4, 8) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("environment" as const), groupSize: fc.constantFrom(1, 2, 4) }) },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant("push" as const), size: fc.constantFrom(1, 2, 3, 4), env: fc.nat(2) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("poll" as const), manual: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("deliver" as const), whole: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("acknowledge" as const, "pass time" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constantFrom("compact" as const, "disconnect" as const, "reset" as const) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("wait" as const) }) },
)

const scenario = fc.record({
  actions: fc.array(action, { minLength: 10, maxLength: 60, size: "max" }),
  delays: fc.array(fc.nat(3), { minLength: 1, maxLength: 5 }),
  failures: fc.array(
    fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    {
      minLength: 1,
      maxLength: 10,
    },
  ),
})

test("whatever the order and fate of commits, a recovery finds the run as it is, and what there is to free", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ actions, delays, failures }) => {
      const store = new SlowStore(delays, failures.every(Boolean) ? [false] : failures)
      let now = 1000
      const live = await LiveRun.open({ store, logger: silentLogger, now: () => now })
      const presence = new Presence(live, 5000)
      const desk = new BatchDesk(live, presence, { ackTimeoutMs: 3000 })
      const { signal } = new AbortController()
      const under: Promise<unknown>[] = []
      const handouts: Handout[] = []
      const manual: string[] = []
      const pushed: number[] = []
      const start = (work: Promise<unknown>): void => void under.push(work.catch(() => {}))
      for (const step of actions) {
        switch (step.do) {
          case "register":
            start(desk.register(registration(step.batchSize)))
            break
          case "environment":
            start(
              live.submit({
                type: "register-environment",
                time: now,
                registration: {
                  desiredName: "e",
                  maxTokenLength: "9",
                  weight: 1,
                  groupSize: String(step.groupSize),
                  minBatchAllocation: null,
                },
              }),
            )
            break
          case "push": {
            const id = live.newGroupId()
            const groups = [{ id, environment: step.env, size: step.size, bytes: 3 }]
            const payloads = [{ groupId: id, segment: new Uint8Array(3), crc32: 0, jsonBytes: 3 }]
            presence.see(step.env)
            const push = { type: "push", time: now, step: 0, digest: `d${id}`, key: null, groups } as const
            start(live.submit(push, { payloads }).then(() => pushed.push(id)))
            break
          }
          case "poll":
            start(
              desk.poll({ manual: step.manual, waitMs: 0, signal }).then((handout) => {
                if (handout === null || handout === "not-registered") return
                handouts.push(handout)
                if (step.manual) manual.push(handout.id)
              }),
            )
            break
          case "deliver": {
            const handout = handouts.shift()
            if (step.whole) handout?.delivered()
            else handout?.failed()
            break
          }
          case "acknowledge":
            start(desk.acknowledge(manual.shift() ?? "1"))
            break
          case "pass time":
            now += 1500
            start(desk.check())
            break
          case "compact":
            store.compactionDue = true
            live.note({ type: "lapse-environments", environments: [] })
            await new Promise(setImmediate)
            break
          case "disconnect":
            start(live.submit({ type: "disconnect-environment", environment: 0 }))
            break
          case "reset":
            start(desk.reset())
            break
          case "wait":
            await new Promise(setImmediate)
            store.compactionDue = false
            break
        }
      }
      await Promise.all(under)
      store.compactionDue = false
      // A last commit that succeeds takes along whatever notes are left.
      for (;;) {
        const ended = await live.submit({ type: "answer-pushes", digests: [] }).then(
          () => true,
          () => false,
        )
        if (ended) break
      }
      const recovered = await LiveRun.open({ store, logger: silentLogger, now: () => now })
      live.run.wakeUp(now)
      expect(describeRun(recovered.run)).toEqual(describeRun(live.run))
      // What the run still knows can be read.
      const { table, batches, queue } = live.run
      const slots = [...batches.open.values()].flatMap((batch) => batch.slots)
      for (const { head } of queue.classes.values()) {
        for (let slot = head; slot !== -1; slot = table.sizeNext[slot]!) slots.push(slot)
      }
      for (const slot of slots) expect((await store.read(table.idOf(slot))).jsonBytes).toBe(3)
      // And what it does not know is gone, or will be.
      for (const id of pushed) {
        if (table.slotOf(id) !== undefined || id === live.run.latest || recovered.run.freed.includes(id)) continue
        await expect(store.read(id)).rejects.toThrow(expect.objectContaining({ code: "store-no-group" }))
      }
    }),
    { numRuns: 200 },
  )
})
