/**
 * What every store must do, as cases that run without a test framework. A failure says what was seen and the
 * likely cause. Each case gets a fixture of its own.
 */
import { crc32 as zlibCrc32 } from "node:zlib"
import { isAtroposError } from "../../runtime/errors.ts"
import type { Commit, Payload, Store } from "./store.ts"

/** One place where a run can live, empty at first. */
export interface StoreFixture {
  /** Opens the run in it; again after `close` or `crash`. */
  open(options?: { retainBytes?: number }): Promise<Store>
  /** Leaves what a power cut right now would leave, for the next `open`. Null when the store ends with its process. */
  crash: ((store: Store) => void | Promise<void>) | null
  /** Takes or gives back the room for another 16 MiB of payloads. Null when there is no such limit. */
  fill: ((full: boolean) => void | Promise<void>) | null
  /** Ends what is still open and removes the place. */
  remove(): Promise<void>
}

export interface StoreCase {
  title: string
  /**
   * Rejects with what was seen and the likely cause.
   * @param timeoutMs after which a call counts as never answered. @default 20_000
   */
  run(createFixture: () => Promise<StoreFixture>, timeoutMs?: number): Promise<void>
}

type Check = (fixture: StoreFixture) => Promise<void>

/** Cases that a store without `crash` or `fill` can not be asked for pass without doing anything. */
export const storeCases: readonly StoreCase[] = [
  storeCase("a new run has no snapshot and no events", "what an earlier run left was not cleared", async (fixture) => {
    same(await (await fixture.open()).recover(), { snapshot: null, events: [] }, "recover()")
  }),

  storeCase("recovers events in the order of the calls", "commits overtake each other", async (fixture) => {
    const store = await fixture.open()
    await Promise.all(range(50).map((n) => store.commit(commitOf(n, { bytes: n % 7 === 0 ? 50_000 : 10 }))))
    same((await store.recover()).events, range(50).flatMap(eventsOf), "events")
  }),

  storeCase("keeps event texts as they are", "events are joined, trimmed or re-encoded", async (fixture) => {
    const events = ["", "{}", '{"a":"\\n"}', '{\n "b": "ü\u{1f600}"\n}', `"${"x".repeat(100_000)}"`]
    const store = await fixture.open()
    await store.commit({ events, payloads: [] })
    same((await store.recover()).events, events, "events")
  }),

  storeCase(
    "gives payloads back bit by bit",
    "payloads are mixed up, cut or copied with their buffer",
    async (fixture) => {
      const store = await fixture.open()
      const whole = new Uint8Array(3_000_000).map((_, index) => index * 7)
      const pooled = Buffer.from("a small segment in a pool shared with others")
      const shared = bytesOf(77, 20_000)
      const segments = [whole, pooled, shared.subarray(0, 9_000), shared.subarray(9_000), new Uint8Array(0)]
      const expected = segments.map((segment) => Buffer.from(segment).toString("base64"))
      await store.commit({ events: ["{}"], payloads: segments.map((segment, groupId) => payloadOf(groupId, segment)) })
      for (const groupId of [4, 3, 2, 1, 0, 3]) {
        const payload = await store.read(groupId)
        same(Buffer.from(payload.segment).toString("base64"), expected[groupId], `the segment of group ${groupId}`)
        same(payload.jsonBytes, groupId + 1000, `jsonBytes of group ${groupId}`)
        same(payload.crc32, 0xffff_fff0 + groupId, `crc32 of group ${groupId}`)
      }
    },
  ),

  storeCase(
    "reads wait for the commit of their group",
    "read() does not know of commits under way",
    async (fixture) => {
      const store = await fixture.open()
      const commit = store.commit(commitOf(1, { bytes: 200_000 }))
      await holds(store, 1, { bytes: 200_000 })
      await commit
    },
  ),

  storeCase(
    "says of a group that it has not: store-no-group",
    "read() answers something for an unknown id",
    async (fixture) => {
      const store = await fixture.open()
      await rejects(store.read(7), "store-no-group", "read(7)")
    },
  ),

  storeCase(
    "memory that was given back is not looked at again",
    "a payload's memory is freed while it is in use, or used after it was freed",
    async (fixture) => {
      const store = await fixture.open({ retainBytes: 0 })
      const bytes = 6000
      await store.commit({ events: ["{}"], payloads: range(4).map((n) => lentPayloadOf(n, bytes)) })
      const reads = await Promise.all([0, 1, 1, 2].map((n) => store.read(n)))
      reads[1]?.free?.()
      await store.commit({ events: ["{}"], payloads: [lentPayloadOf(4, bytes)], released: [0, 1, 2] })
      for (const n of [3, 4]) await holds(store, n, { bytes })
      for (const [index, n] of [
        [0, 0],
        [2, 1],
        [3, 2],
      ] as const) {
        const read = reads[index]
        same(zlibCrc32(read?.segment ?? ""), zlibCrc32(bytesOf(n, bytes)), `the CRC-32 of group ${n}, read before`)
        read?.free?.()
      }
      for (const n of [3, 4]) await holds(store, n, { bytes })
    },
  ),

  storeCase("keeps nothing of a commit that rejects", "a commit is not one transaction", async (fixture) => {
    const store = await fixture.open()
    await store.commit(commitOf(1))
    await rejects(
      store.commit({ ...commitOf(2), payloads: [payloadOf(2), payloadOf(1)] }),
      "store-duplicate-group",
      "the commit of a group that is there",
    )
    same((await store.recover()).events, eventsOf(1), "events")
    await rejects(store.read(2), "store-no-group", "read(2)")
    await holds(store, 1)
    const before = store.payloadBytes
    await store.commit(commitOf(2))
    same((await store.recover()).events, [...eventsOf(1), ...eventsOf(2)], "events after a commit that succeeded")
    same(store.payloadBytes, before + segmentBytes, "payloadBytes")
  }),

  storeCase(
    "a rejected commit takes those behind it along until it was seen",
    "commits that build on what was not kept are kept",
    async (fixture) => {
      const store = await fixture.open()
      await store.commit(commitOf(1))
      const calls = [
        store.commit(commitOf(2)),
        store.commit(commitOf(1)),
        store.commit(commitOf(3)),
        store.compact('"after 3"'),
        store.commit(commitOf(4)),
      ]
      const outcomes = (await Promise.allSettled(calls)).map(({ status }) => status)
      same(
        outcomes,
        ["fulfilled", ...Array<string>(4).fill("rejected")],
        "the outcomes of a commit, a bad one and three behind it",
      )
      await store.commit(commitOf(5))
      same(await store.recover(), { snapshot: null, events: [1, 2, 5].flatMap(eventsOf) }, "recover()")
      await rejects(store.read(3), "store-no-group", "read(3)")
    },
  ),

  storeCase("a clean end loses nothing", "close() does not wait for commits under way", async (fixture) => {
    if (fixture.crash === null) return
    const store = await fixture.open()
    const commits = range(20).map((n) => store.commit(commitOf(n, { bytes: 30_000 })))
    await store.close()
    await store.close()
    await Promise.all(commits)
    const again = await fixture.open()
    same((await again.recover()).events, range(20).flatMap(eventsOf), "events")
    for (const n of range(20)) await holds(again, n, { bytes: 30_000 })
  }),

  storeCase("after close it takes nothing", "calls after close() hang or succeed", async (fixture) => {
    const store = await fixture.open()
    await store.close()
    await rejects(store.commit(commitOf(1)), "store-closed", "commit()")
    await rejects(store.read(1), "store-closed", "read()")
  }),

  storeCase("what has resolved survives a crash", "commit() resolves before its bytes are durable", async (fixture) => {
    if (fixture.crash === null) return
    const store = await fixture.open()
    for (const n of range(5)) await store.commit(commitOf(n, { bytes: 5_000 * n }))
    await fixture.crash(store)
    const again = await fixture.open()
    same((await again.recover()).events, range(5).flatMap(eventsOf), "events")
    for (const n of range(5)) await holds(again, n, { bytes: 5_000 * n })
  }),

  storeCase(
    "a crash under load leaves a beginning of the history that has all that resolved",
    "commits resolve out of order, are not atomic, or their payloads come later than their events",
    async (fixture) => {
      if (fixture.crash === null) return
      const store = await fixture.open()
      const resolved: number[] = []
      const commits = range(60).map((n) => store.commit(commitOf(n, { bytes: 20_000 })).then(() => resolved.push(n)))
      await commits[20]
      await fixture.crash(store)
      const acknowledged = [...resolved]
      await Promise.allSettled(commits)
      same(acknowledged, range(acknowledged.length), "the order in which commits resolved")
      const again = await fixture.open()
      const { events } = await again.recover()
      const kept = events.length / eventsOf(0).length
      same(events, range(Math.ceil(kept)).flatMap(eventsOf), "events")
      if (kept < acknowledged.length) throw new Error(`${acknowledged.length} commits had resolved, ${kept} are kept`)
      for (const n of range(kept)) await holds(again, n, { bytes: 20_000 })
      await rejects(again.read(kept), "store-no-group", "the first group that was not kept")
    },
  ),

  storeCase("a snapshot replaces what came before it", "compact() drops too much or too little", async (fixture) => {
    const store = await fixture.open()
    const calls = [
      store.commit(commitOf(1)),
      store.compact('{"after":1}'),
      store.commit(commitOf(2)),
      store.commit(commitOf(3)),
    ]
    await Promise.all(calls)
    same(await store.recover(), { snapshot: '{"after":1}', events: [2, 3].flatMap(eventsOf) }, "recover()")
    await store.compact('{"after":3}')
    await store.commit(commitOf(4))
    const expected = { snapshot: '{"after":3}', events: eventsOf(4) }
    same(await store.recover(), expected, "recover() after the second snapshot")
    if (fixture.crash === null) return
    await fixture.crash(store)
    const again = await fixture.open()
    same(await again.recover(), expected, "recover() after a crash")
    for (const n of [1, 2, 3, 4]) await holds(again, n)
  }),

  storeCase("says when a snapshot is due", "compactionDue does not follow the bytes of events", async (fixture) => {
    const store = await fixture.open()
    same(store.compactionDue, false, "compactionDue of a new run")
    await store.commit({ events: range(6).map(() => `"${"e".repeat(1024 * 1024)}"`), payloads: [] })
    same(store.compactionDue, true, "compactionDue after 6 MiB of events")
    await store.compact("{}")
    same(store.compactionDue, false, "compactionDue after a snapshot")
  }),

  storeCase(
    "released groups stay up to the limit, the oldest go first",
    "retention counts or orders wrongly",
    async (fixture) => {
      const store = await fixture.open({ retainBytes: 3 * segmentBytes })
      for (const n of range(8)) await store.commit(commitOf(n))
      same(store.payloadBytes, 8 * segmentBytes, "payloadBytes of 8 queued groups")
      await store.commit({ events: ["{}"], payloads: [], released: [0, 1, 99] })
      await store.commit({ events: ["{}"], payloads: [], released: [1, 2] })
      for (const n of range(8)) await holds(store, n)
      await store.commit({ events: ["{}"], payloads: [], released: [3, 4] })
      same(store.payloadBytes, 6 * segmentBytes, "payloadBytes of 3 queued and 3 released groups")
      for (const n of [0, 1]) await rejects(store.read(n), "store-no-group", `read(${n})`)
      for (const n of [2, 3, 4, 5, 6, 7]) await holds(store, n)
    },
  ),

  storeCase("groups that were not released stay, however many", "retention takes queued groups", async (fixture) => {
    const store = await fixture.open({ retainBytes: 0 })
    for (const n of range(8)) await store.commit(commitOf(n))
    await store.commit({ events: ["{}"], payloads: [payloadOf(8)], released: [3] })
    await rejects(store.read(3), "store-no-group", "read(3)")
    for (const n of [0, 1, 2, 4, 5, 6, 7, 8]) await holds(store, n)
  }),

  storeCase(
    "a reset releases what came before it, and that only",
    "beginsRun releases too much or too little",
    async (fixture) => {
      const store = await fixture.open({ retainBytes: 2 * segmentBytes })
      for (const n of range(3)) await store.commit(commitOf(n))
      await store.commit({ events: ['"reset"'], payloads: [payloadOf(3), payloadOf(4)], beginsRun: true })
      await store.commit(commitOf(5))
      await rejects(store.read(0), "store-no-group", "read(0)")
      for (const n of [1, 2, 3, 4, 5]) await holds(store, n)
      same(store.payloadBytes, 5 * segmentBytes, "payloadBytes")
      await store.commit({ events: ["{}"], payloads: [], released: [4] })
      await rejects(store.read(1), "store-no-group", "read(1)")
      for (const n of [2, 3, 4, 5]) await holds(store, n)
    },
  ),

  storeCase(
    "remembers over a restart what was released",
    "the releases of a commit are not durable",
    async (fixture) => {
      if (fixture.crash === null) return
      const store = await fixture.open()
      for (const n of range(4)) await store.commit(commitOf(n))
      await store.commit({ events: ["{}"], payloads: [], released: [0, 2] })
      await fixture.crash(store)
      const again = await fixture.open({ retainBytes: segmentBytes })
      same(again.payloadBytes, 4 * segmentBytes, "payloadBytes after the crash")
      await again.commit({ events: ["{}"], payloads: [] })
      await rejects(again.read(0), "store-no-group", "read(0)")
      for (const n of [1, 2, 3]) await holds(again, n)
    },
  ),

  storeCase(
    "random histories come out as they went in",
    "an interplay of commits, failures, snapshots and restarts",
    (fixture) => runRandomHistory(fixture, 1),
  ),

  storeCase(
    "a full disk refuses, keeps what it has, and recovers",
    "store-full loses or half keeps something",
    async (fixture) => {
      if (fixture.fill === null) return
      const store = await fixture.open()
      for (const n of range(3)) await store.commit(commitOf(n))
      await fixture.fill(true)
      await rejects(store.commit(commitOf(3, { bytes: 16 * 1024 * 1024 })), "store-full", "the commit of 16 MiB")
      same((await store.recover()).events, range(3).flatMap(eventsOf), "events")
      for (const n of range(3)) await holds(store, n)
      await fixture.fill(false)
      await store.commit(commitOf(3, { bytes: 16 * 1024 * 1024 }))
      await holds(store, 3, { bytes: 16 * 1024 * 1024 })
      same((await store.recover()).events, range(4).flatMap(eventsOf), "events once there was room")
    },
  ),
]

function storeCase(title: string, likelyCause: string, check: Check): StoreCase {
  return {
    title,
    async run(createFixture, timeoutMs = 20_000) {
      const fixture = await createFixture()
      const timedOut = Promise.withResolvers<never>()
      const timer = setTimeout(() => timedOut.reject(new Error("a call was never answered")), timeoutMs)
      try {
        await Promise.race([check(fixture), timedOut.promise])
      } catch (error) {
        const seen = error instanceof Error ? error.message : String(error)
        throw new Error(`${title}: ${seen}. Likely cause: ${likelyCause}.`, { cause: error })
      } finally {
        clearTimeout(timer)
        await fixture.remove()
      }
    },
  }
}

/** Calls in random order, several at a time, against a model of what must be there. */
async function runRandomHistory(fixture: StoreFixture, seed: number): Promise<void> {
  const random = createRandom(seed)
  const model = { snapshot: null as string | null, events: [] as string[], groups: new Map<number, number>() }
  let store = await fixture.open()
  let nextId = 0
  for (let round = 0; round < 12; round++) {
    const calls: Promise<unknown>[] = []
    for (let left = random(12); left > 0; left--) {
      const kind = random(10)
      if (kind === 0) {
        model.snapshot = `{"round":${round},"left":${left}}`
        model.events = []
        calls.push(store.compact(model.snapshot))
        continue
      }
      const ids = range(random(4)).map(() => nextId++)
      const sizes = ids.map(() => (random(5) === 0 ? 60_000 : random(300)))
      const events = range(1 + random(2)).map((n) => `{"round":${round},"left":${left},"n":${n}}`)
      const payloads = ids.map((id, index) => payloadOf(id, bytesOf(id, sizes[index] ?? 0)))
      calls.push(store.commit({ events, payloads, beginsRun: kind === 1, released: kind === 2 ? ids.slice(1) : [] }))
      model.events.push(...events)
      ids.forEach((id, index) => model.groups.set(id, sizes[index] ?? 0))
    }
    if (model.groups.size > 0 && random(2) === 0) {
      // What is called behind a failure, and before it is seen, must not count: the model does not hear of it.
      const [taken = 0] = model.groups.keys()
      const bad = [commitOf(taken), commitOf(nextId++), commitOf(nextId++)].map((commit) => store.commit(commit))
      const outcomes = (await Promise.allSettled(bad)).map(({ status }) => status)
      same(outcomes, ["rejected", "rejected", "rejected"], "a commit of a group that is there, and two behind it")
    }
    await Promise.all(calls)
    if (fixture.crash !== null && random(3) === 0) {
      if (random(2) === 0) await store.close()
      else await fixture.crash(store)
      store = await fixture.open()
    }
    same(await store.recover(), { snapshot: model.snapshot, events: model.events }, `recover() in round ${round}`)
    same(store.payloadBytes, sum(model.groups.values()), `payloadBytes in round ${round}`)
    for (const [id, bytes] of [...model.groups].slice(-20)) await holds(store, id, { bytes })
  }
}

/** Whole numbers below a limit, the same for the same seed. */
function createRandom(seed: number): (limit: number) => number {
  let state = seed
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
}

function sum(numbers: Iterable<number>): number {
  let total = 0
  for (const number of numbers) total += number
  return total
}

const segmentBytes = 1000

const range = (length: number): number[] => Array.from({ length }, (_, index) => index)

/** Bytes that say which group they are of. */
function bytesOf(seed: number, length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, index) => (index * 31 + seed * 17) ^ (index >> 8))
}

function payloadOf(
  groupId: number,
  segment: Uint8Array = bytesOf(groupId, segmentBytes),
): Payload & { groupId: number } {
  return { groupId, segment, crc32: 0xffff_fff0 + groupId, jsonBytes: groupId + 1000 }
}

/** A payload in shared memory that is used for something else as soon as it is given back. */
function lentPayloadOf(groupId: number, bytes: number): Payload & { groupId: number } {
  const segment = new Uint8Array(new SharedArrayBuffer(bytes * 2), bytes / 2, bytes)
  segment.set(bytesOf(groupId, bytes))
  return { ...payloadOf(groupId, segment), free: () => segment.fill(0xff) }
}

const eventsOf = (n: number): string[] => [`{"push":${n}}`, `{"and":"${n}"}`]

function commitOf(n: number, { bytes = segmentBytes }: { bytes?: number } = {}): Commit {
  return { events: eventsOf(n), payloads: [payloadOf(n, bytesOf(n, bytes))] }
}

async function holds(store: Store, groupId: number, { bytes = segmentBytes }: { bytes?: number } = {}): Promise<void> {
  const { segment, free } = await store.read(groupId)
  same(segment.length, bytes, `the bytes of group ${groupId}`)
  same(zlibCrc32(segment), zlibCrc32(bytesOf(groupId, bytes)), `the CRC-32 of group ${groupId}`)
  free?.()
}

function same(actual: unknown, expected: unknown, what: string): void {
  const [seen, wanted] = [JSON.stringify(actual), JSON.stringify(expected)]
  if (seen !== wanted) throw new Error(`${what}: expected ${brief(wanted)}, received ${brief(seen)}`)
}

async function rejects(call: Promise<unknown>, code: string, what: string): Promise<void> {
  const outcome = await call.then(
    () => "success",
    (error: unknown) => (isAtroposError(error) ? error.code : String(error)),
  )
  if (outcome !== code) throw new Error(`${what}: expected ${code}, received ${outcome}`)
}

function brief(text: string | undefined): string {
  return text === undefined ? "nothing" : text.length > 300 ? `${text.slice(0, 300)}…` : text
}
