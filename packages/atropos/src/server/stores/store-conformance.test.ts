import { describe, expect, it } from "vitest"
import { AtroposError } from "../../runtime/errors.ts"
import { isCompactionDue } from "./compaction.ts"
import { storeCases, type StoreFixture } from "./store-conformance.ts"
import { closedStore, duplicateGroup, unknownGroup } from "./store-errors.ts"
import type { Commit, Payload, Recovered, Store } from "./store.ts"

/** Ways in which a store can be wrong, and the case that must notice, by a word of its title. */
const faults = {
  "shows what another run left": "a new run has no snapshot",
  "lets small commits overtake large ones": "recovers events in the order",
  "trims event texts": "keeps event texts as they are",
  "stores the whole buffer of a segment": "gives payloads back bit by bit",
  "forgets the CRC's highest bit": "gives payloads back bit by bit",
  "does not wait for commits under way when it reads": "reads wait for the commit",
  "answers an unknown group with nothing": "says of a group that it has not",
  "frees the memory of what it keeps": "memory that was given back",
  "keeps the events of a commit that rejects": "keeps nothing of a commit that rejects",
  "keeps the payloads of a commit that rejects": "keeps nothing of a commit that rejects",
  "goes on behind a rejected commit": "a rejected commit takes those behind it along",
  "refuses for ever after a rejected commit": "a rejected commit takes those behind it along",
  "drops what is under way when it closes": "a clean end loses nothing",
  "takes commits after close": "after close it takes nothing",
  "loses the last commit in a crash": "what has resolved survives a crash",
  "forgets payloads in a crash": "what has resolved survives a crash",
  "resolves before it is durable": "what has resolved survives a crash",
  "resolves in another order": "a crash under load",
  "drops events of commits behind a snapshot": "a snapshot replaces what came before it",
  "drops payloads at a snapshot": "a snapshot replaces what came before it",
  "never finds a snapshot due": "says when a snapshot is due",
  "drops the newest released group first": "released groups stay up to the limit",
  "keeps released groups for ever": "released groups stay up to the limit",
  "counts a group released twice twice": "released groups stay up to the limit",
  "counts queued groups towards the limit": "groups that were not released stay",
  "releases what a reset brings": "a reset releases what came before it",
  "keeps everything queued at a reset": "a reset releases what came before it",
  "forgets releases in a crash": "remembers over a restart",
  "forgets events once there were many": "random histories",
  "keeps half a commit on a full disk": "a full disk refuses",
  "stays full for ever": "a full disk refuses",
} as const
type Fault = keyof typeof faults

describe("the cases for stores", () => {
  it.each(storeCases.map(({ title }) => title))("a store without faults passes: %s", async (title) => {
    await storeCases.find((each) => each.title === title)!.run(() => simulatedFixture(null))
  })

  it.each(Object.keys(faults) as Fault[])("a store that %s fails its case, with a likely cause", async (fault) => {
    const noticing = storeCases.find(({ title }) => title.startsWith(faults[fault]))!
    await expect(noticing.run(() => simulatedFixture(fault), 2000)).rejects.toThrow(/^.+: .+\. Likely cause: .+\.$/s)
  })

  it("every case notices some fault", () => {
    const noticed = Object.values(faults)
    expect(storeCases.filter(({ title }) => !noticed.some((start) => title.startsWith(start)))).toEqual([])
  })
})

interface Disk {
  snapshot: string | null
  events: string[]
  groups: Map<number, { payload: Payload; released: boolean }>
}

const emptyDisk = (): Disk => ({ snapshot: null, events: [], groups: new Map() })

async function simulatedFixture(fault: Fault | null): Promise<StoreFixture> {
  let disk = emptyDisk()
  const room = { full: false, wasFull: false }
  if (fault === "shows what another run left") disk.events.push("{}")
  return {
    open: async (options) => new SimulatedStore(disk, options?.retainBytes ?? Infinity, fault, room),
    crash() {
      disk = structuredClone(disk)
      if (fault === "loses the last commit in a crash") disk.events.splice(-2)
      if (fault === "forgets payloads in a crash") disk.groups.clear()
      if (fault === "forgets releases in a crash") for (const group of disk.groups.values()) group.released = false
    },
    fill(full) {
      room.full = full
      room.wasFull ||= full
    },
    remove: async () => {},
  }
}

interface Job {
  commit: Commit | null
  snapshot: string | null
  settle: (error?: Error) => void
}

/** A store over a simulated disk, that does one job a turn of the event loop; `fault` is what it does wrong. */
class SimulatedStore implements Store {
  readonly kind = "simulated"
  readonly #disk: Disk
  readonly #retainBytes: number
  readonly #fault: Fault | null
  readonly #room: { full: boolean; wasFull: boolean }
  #jobs: Job[] = []
  #closed = false
  #failed = false
  #twice = 0
  #eventsSeen = 0

  constructor(disk: Disk, retainBytes: number, fault: Fault | null, room: { full: boolean; wasFull: boolean }) {
    this.#disk = disk
    this.#retainBytes = retainBytes
    this.#fault = fault
    this.#room = room
  }

  get payloadBytes(): number {
    return this.#bytes(() => true)
  }

  get compactionDue(): boolean {
    const { events, snapshot } = this.#disk
    const eventBytes = events.reduce((sum, event) => sum + event.length, 0)
    return this.#fault !== "never finds a snapshot due" && isCompactionDue(eventBytes, snapshot?.length ?? 0)
  }

  async recover(): Promise<Recovered> {
    await this.#idle()
    return structuredClone({ snapshot: this.#disk.snapshot, events: this.#disk.events })
  }

  commit(commit: Commit): Promise<void> {
    if (this.#closed && this.#fault !== "takes commits after close") return Promise.reject(closedStore())
    return this.#enqueue(commit, null)
  }

  compact(snapshot: string): Promise<void> {
    return this.#enqueue(null, snapshot)
  }

  async read(groupId: number): Promise<Payload> {
    if (this.#closed) throw closedStore()
    if (this.#fault !== "does not wait for commits under way when it reads") await this.#idle()
    const group = this.#disk.groups.get(groupId)
    if (group !== undefined) return group.payload
    if (this.#fault === "answers an unknown group with nothing") {
      return { segment: new Uint8Array(), crc32: 0, jsonBytes: 0 }
    }
    throw unknownGroup(groupId)
  }

  async close(): Promise<void> {
    if (this.#fault === "drops what is under way when it closes") this.#jobs = []
    await this.#idle()
    this.#closed = true
  }

  #enqueue(commit: Commit | null, snapshot: string | null): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const settle = (error?: Error): void => (error === undefined ? resolve() : reject(error))
    const job = { commit, snapshot, settle }
    const small = commit !== null && (commit.payloads[0]?.segment.length ?? 0) < 100
    if (this.#fault === "lets small commits overtake large ones" && small) this.#jobs.unshift(job)
    else this.#jobs.push(job)
    if (this.#jobs.length === 1) setImmediate(() => this.#work())
    return promise
  }

  #work(): void {
    const job = this.#jobs[0]
    if (job === undefined) return
    if (this.#fault === "resolves before it is durable") job.settle()
    setImmediate(() => {
      const resolvesLate = this.#fault === "resolves in another order" && this.#jobs.length % 5 === 0
      try {
        if (job.commit !== null) this.#apply(job.commit)
        else this.#snapshot(job.snapshot ?? "")
        if (resolvesLate) setTimeout(job.settle)
        else job.settle()
      } catch (error) {
        const failure = error instanceof Error ? error : new Error(String(error))
        job.settle(failure)
        if (this.#fault === "refuses for ever after a rejected commit") this.#failed = true
        if (this.#fault !== "goes on behind a rejected commit") {
          for (const behind of this.#jobs.splice(1)) behind.settle(failure)
        }
      }
      this.#jobs.shift()
      this.#work()
    })
  }

  #apply(commit: Commit): void {
    const { events, groups } = this.#disk
    if (this.#failed) throw new Error("refused")
    const bytes = commit.payloads.reduce((sum, { segment }) => sum + segment.length, 0)
    const full = this.#fault === "stays full for ever" ? this.#room.wasFull : this.#room.full
    if (full && bytes > 1_000_000) {
      if (this.#fault === "keeps half a commit on a full disk") events.push(...commit.events)
      throw new AtroposError("store-full", "full")
    }
    const taken = commit.payloads.find(({ groupId }) => groups.has(groupId))
    if (taken !== undefined) {
      if (this.#fault === "keeps the events of a commit that rejects") events.push(...commit.events)
      if (this.#fault === "keeps the payloads of a commit that rejects") this.#put(commit.payloads[0]!)
      throw duplicateGroup(taken.groupId)
    }
    const trims = this.#fault === "trims event texts"
    events.push(...commit.events.map((event) => (trims ? event.trim().replace("\n", "") : event)))
    this.#eventsSeen += commit.events.length
    if (this.#fault === "forgets events once there were many" && this.#eventsSeen > 20) events.pop()
    if (commit.beginsRun === true && this.#fault !== "keeps everything queued at a reset") this.#releaseAll()
    commit.payloads.forEach((payload) => this.#put(payload))
    if (commit.beginsRun === true && this.#fault === "releases what a reset brings") this.#releaseAll()
    for (const groupId of commit.released ?? []) this.#release(groupId)
    this.#dropOldest()
  }

  #put({ groupId, segment, crc32, jsonBytes, free }: Payload & { groupId: number }): void {
    const whole = this.#fault === "stores the whole buffer of a segment"
    const lent = this.#fault === "frees the memory of what it keeps"
    const kept = lent ? segment : whole ? new Uint8Array(segment.buffer.slice(0)) : segment.slice()
    const crc = this.#fault === "forgets the CRC's highest bit" ? crc32 & 0x7fff_ffff : crc32
    this.#disk.groups.set(groupId, { payload: { segment: kept, crc32: crc, jsonBytes }, released: false })
    free?.()
  }

  #release(groupId: number): void {
    const group = this.#disk.groups.get(groupId)
    if (group?.released === true && this.#fault === "counts a group released twice twice") this.#twice += 1000
    if (group !== undefined) group.released = true
  }

  #releaseAll(): void {
    for (const groupId of this.#disk.groups.keys()) this.#release(groupId)
  }

  #dropOldest(): void {
    const { groups } = this.#disk
    const released = (): [number, unknown][] => [...groups].filter(([, group]) => group.released)
    const counted = (): number =>
      this.#twice + this.#bytes((group) => group.released || this.#fault === "counts queued groups towards the limit")
    while (counted() > this.#retainBytes && this.#fault !== "keeps released groups for ever") {
      const candidates = this.#fault === "counts queued groups towards the limit" ? [...groups] : released()
      const victim = candidates.at(this.#fault === "drops the newest released group first" ? -1 : 0)
      if (victim === undefined) return
      groups.delete(victim[0])
    }
  }

  #snapshot(snapshot: string): void {
    this.#disk.snapshot = snapshot
    this.#disk.events.splice(0)
    if (this.#fault === "drops payloads at a snapshot") this.#disk.groups.clear()
    if (this.#fault === "drops events of commits behind a snapshot") {
      for (const { commit, settle } of this.#jobs.splice(1)) {
        if (commit !== null) this.#apply({ ...commit, events: [] })
        settle()
      }
    }
  }

  #bytes(counts: (group: { released: boolean }) => boolean): number {
    let bytes = 0
    for (const group of this.#disk.groups.values()) if (counts(group)) bytes += group.payload.segment.length
    return bytes
  }

  async #idle(): Promise<void> {
    while (this.#jobs.length > 0) await new Promise((resolve) => setImmediate(resolve))
  }
}
