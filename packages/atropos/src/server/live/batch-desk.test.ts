import { expect, test } from "vitest"

import { silentLogger } from "../../runtime/logger.ts"
import type { TrainerRegistration } from "../run/registration.ts"
import { takeSnapshot } from "../run/snapshot.ts"
import { createMemoryStore } from "../stores/memory-store.ts"
import type { Store } from "../stores/store.ts"
import { BatchDesk, type Handout } from "./batch-desk.ts"
import { LiveRun } from "./live-run.ts"
import { Presence } from "./presence.ts"

const registration: TrainerRegistration = {
  wandbGroup: "g",
  wandbProject: "p",
  batchSize: "4",
  maxTokenLength: "64",
  checkpointDir: "/c",
  saveCheckpointInterval: "1",
  startingStep: "0",
  numSteps: "10",
}

/** A server's life: when it dies, what it has not committed is lost. */
class Life {
  readonly desk: BatchDesk
  readonly live: LiveRun
  readonly #mortal: { dead: boolean }

  private constructor(live: LiveRun, mortal: { dead: boolean }) {
    this.live = live
    this.#mortal = mortal
    this.desk = new BatchDesk(live, new Presence(live, 1e9), { ackTimeoutMs: 1000 })
  }

  static async begin(disk: Store): Promise<Life> {
    const mortal = { dead: false }
    const store: Store = {
      kind: "mortal",
      compactionDue: false,
      payloadBytes: 0,
      recover: () => disk.recover(),
      read: (id) => disk.read(id),
      close: async () => {},
      compact: (snapshot) => disk.compact(snapshot),
      commit: (commit) => (mortal.dead ? new Promise<never>(() => {}) : disk.commit(commit)),
    }
    return new Life(await LiveRun.open({ store, logger: silentLogger, now: () => 0 }), mortal)
  }

  /** At once: notes that wait for their commit go with it. */
  die(): void {
    this.#mortal.dead = true
  }

  async push(): Promise<void> {
    const id = this.live.newGroupId()
    const groups = [{ id, environment: null, size: 4, bytes: 3 }]
    const payloads = [{ groupId: id, segment: new Uint8Array(3), crc32: 0, jsonBytes: 3 }]
    await this.live.submit({ type: "push", time: 0, step: 0, digest: `d${id}`, key: null, groups }, { payloads })
  }

  async poll(manual = true): Promise<Handout> {
    const handout = await this.desk.poll({ manual, waitMs: 0, signal: new AbortController().signal })
    if (handout === null || handout === "not-registered") throw new Error("there is no batch")
    return handout
  }
}

async function beginRun(): Promise<{ disk: Store; life: Life }> {
  const disk = createMemoryStore()
  const life = await Life.begin(disk)
  await life.desk.register(registration)
  await life.push()
  return { disk, life }
}

const groupsOf = ({ live }: Life, { batch }: Handout): number[] => batch.slots.map((slot) => live.run.table.idOf(slot))

test("a batch whose delivery the server did not live to note counts for one of those who got it", async () => {
  const { disk, life: first } = await beginRun()
  const early = await first.poll()
  const groups = groupsOf(first, early)
  early.delivered()
  first.die()

  const second = await Life.begin(disk)
  const late = await second.poll()
  expect(groupsOf(second, late)).toEqual(groups)
  expect(await second.desk.acknowledge(early.id)).toBe("handed-out-again")
  late.delivered()
  expect(await second.desk.acknowledge(early.id)).toBe("handed-out-again")
  expect(await second.desk.acknowledge(late.id)).toBe("settled")
  expect(second.live.run.step).toBe(1n)
  expect(await second.desk.acknowledge(late.id)).toBe("settled")
  expect(await second.desk.acknowledge(early.id)).toBe("handed-out-again")

  // Nor is it forgotten, by the log or by a snapshot.
  const third = await Life.begin(disk)
  await third.live.store.compact(takeSnapshot(third.live.run))
  for (const life of [third, await Life.begin(disk)]) {
    expect(await life.desk.acknowledge(late.id)).toBe("settled")
    expect(await life.desk.acknowledge(early.id)).toBe("handed-out-again")
    expect(life.live.run.step).toBe(1n)
  }
})

test("an acknowledgement counts after a restart while nobody else was given the batch", async () => {
  const { disk, life: first } = await beginRun()
  const handout = await first.poll()
  handout.delivered()
  first.die()
  const second = await Life.begin(disk)
  expect(await second.desk.acknowledge(handout.id)).toBe("settled")
  // Its answer was lost with the server: it is sent again.
  second.die()
  const third = await Life.begin(disk)
  expect(await third.desk.acknowledge(handout.id)).toBe("settled")
  expect(third.live.run.step).toBe(1n)
  await expect(third.poll()).rejects.toThrow("there is no batch")
})

test("hand-outs are told apart over every death, also in a snapshot", async () => {
  const { disk, life: first } = await beginRun()
  const handouts = [await first.poll()]
  first.die()
  for (let death = 0; death < 3; death++) {
    const life = await Life.begin(disk)
    handouts.push(await life.poll())
    handouts.at(-1)!.delivered()
    if (death === 1) await disk.compact(takeSnapshot((await Life.begin(disk)).live.run))
    life.die()
  }
  expect(new Set(handouts.map(({ id }) => id)).size).toBe(4)
  const last = await Life.begin(disk)
  const answers = []
  for (const { id } of handouts) answers.push(await last.desk.acknowledge(id))
  expect(answers).toEqual([...Array(3).fill("handed-out-again"), "settled"])
})

test("an acknowledgement and a poll at the same moment do not both get the batch", async () => {
  const { life } = await beginRun()
  const early = await life.poll()
  early.failed()
  const [late, answer] = await Promise.all([life.poll(), life.desk.acknowledge(early.id)])
  expect(answer).toBe("handed-out-again")
  late.failed()
  const [settled, next] = await Promise.all([
    life.desk.acknowledge(late.id),
    life.desk.poll({ manual: true, waitMs: 0, signal: new AbortController().signal }),
  ])
  expect([settled, next]).toEqual(["settled", null])
})

test("what was handed out again to a trainer that does not acknowledge is not the first one's", async () => {
  const { disk, life: first } = await beginRun()
  const early = await first.poll()
  early.delivered()
  first.die()
  const second = await Life.begin(disk)
  const late = await second.poll(false)
  late.delivered()
  expect(await second.desk.acknowledge(early.id)).toBe("handed-out-again")
  expect(second.live.run.step).toBe(1n)
})

test("a batch that another registration took apart can not be acknowledged", async () => {
  const { disk, life: first } = await beginRun()
  const early = await first.poll()
  early.delivered()
  first.die()
  const second = await Life.begin(disk)
  await second.desk.register({ ...registration, startingStep: "7" })
  expect(await second.desk.acknowledge(early.id)).toBe("returned")
  expect((await second.poll()).id).not.toBe(early.id)
})

test("a group that can not be read leaves its batch for good, and what the batch was handed out for does not count", async () => {
  const { disk, life: first } = await beginRun()
  await first.push()
  const early = await first.poll()
  const [damaged = -1] = groupsOf(first, early)
  early.delivered()
  first.die()
  const second = await Life.begin(disk)
  const late = await second.poll()
  expect(await second.desk.setAside(late, damaged)).toBe(true)
  expect(await second.desk.acknowledge(early.id)).toBe("returned")
  await disk.compact(takeSnapshot(second.live.run))
  for (const life of [second, await Life.begin(disk)]) {
    expect(life.live.run).toMatchObject({ step: 0n, damaged: [damaged] })
    expect(life.live.run.queue.groups).toBe(1)
    const next = await life.poll()
    expect(groupsOf(life, next)).not.toContain(damaged)
  }
})

test("a file of which a hundred groups in a row can not be read is damaged as a whole: no more are set aside", async () => {
  const { life } = await beginRun()
  for (let count = 0; count < 101; count++) await life.push()
  const setAside = async (): Promise<boolean> => {
    const handout = await life.poll()
    const done = await life.desk.setAside(handout, groupsOf(life, handout)[0] ?? -1)
    if (!done) handout.failed()
    return done
  }
  for (let count = 0; count < 100; count++) expect(await setAside()).toBe(true)
  expect(await setAside()).toBe(false)
  const readable = await life.poll()
  readable.delivered()
  expect(await setAside()).toBe(true)
})

test("a snapshot of before hand-outs were counted is read", async () => {
  const disk = createMemoryStore()
  const first = await Life.begin(disk)
  await first.desk.register(registration)
  await first.push()
  await first.push()
  await first.poll()
  first.die()
  const old = JSON.parse(takeSnapshot((await Life.begin(disk)).live.run)) as {
    batches: { settledBy?: unknown; open: { handouts?: unknown }[] }
  }
  delete old.batches.settledBy
  for (const batch of old.batches.open) delete batch.handouts
  await disk.compact(JSON.stringify(old))
  const second = await Life.begin(disk)
  expect(await second.desk.acknowledge("1")).toBe("settled")
  expect((await second.poll()).id).toBe("2")
})
