/**
 * A process that commits to a run without pause until it is killed. Says on stdout what it found in the run
 * (`found <count>`), then of each group when its commit has resolved (`kept <id>`).
 */
import { writeSync } from "node:fs"
import { crc32 as zlibCrc32 } from "node:zlib"
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts"

const [directory = "", concurrency = "8"] = process.argv.slice(2)
const say = (line: string): number => writeSync(1, `${line}\n`)

function segmentOf(groupId: number): Uint8Array {
  const bytes = groupId % 11 === 0 ? 700_000 : (groupId * 7919) % 30_000
  return new Uint8Array(bytes).map((_, index) => index * 31 + groupId)
}

const store = await openSqliteStore({ directory, retainBytes: 4e6 })
const { snapshot, events } = await store.recover()
let count = snapshot === null ? 0 : Number(snapshot)
for (const event of events) {
  if (Number(event) !== count) throw new Error(`event ${event} came where ${count} was due`)
  count += 1
}
// What no one released is there, bit by bit; what was released may have left.
for (let id = Math.max(0, count - 40); id < count; id++) {
  if (id % 3 === 0) continue
  const { segment, crc32 } = await store.read(id)
  const wanted = segmentOf(id)
  if (zlibCrc32(segment) !== zlibCrc32(wanted) || crc32 !== id) throw new Error(`group ${id} is not what was written`)
}
say(`found ${count}`)

let next = count
async function work(): Promise<never> {
  for (;;) {
    const id = next++
    const released = id % 3 === 0 ? [id - 3] : []
    const payload = { groupId: id, segment: segmentOf(id), crc32: id, jsonBytes: 1 }
    const kept = store.commit({ events: [String(id)], payloads: [payload], released })
    if (id % 50 === 0) await store.compact(String(id + 1))
    await kept
    say(`kept ${id}`)
  }
}
await Promise.all(Array.from({ length: Number(concurrency) }, work))
