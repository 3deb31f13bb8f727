/** Reads groups on a thread and a connection of its own, so that a batch waits neither for fsync nor for pushes. */
import { join } from "node:path"
import { type MessagePort, parentPort, workerData } from "node:worker_threads"
import { crc32 as zlibCrc32 } from "node:zlib"
import { loadSqlite } from "../../../runtime/sqlite.ts"
import { MemoryPool } from "../../memory-pool.ts"
import { unknownGroup } from "../store-errors.ts"
import { packError, type ReaderOptions, type ReadReply, type ReadRequest } from "./messages.ts"
import { runFileName } from "./schema.ts"
import { damagedRun, describeSqliteError } from "./sqlite-errors.ts"

/** Memory kept for groups to come. */
const pooledBytes = 16 * 1024 * 1024

function start(port: MessagePort, { directory }: ReaderOptions): void {
  const file = join(directory, runFileName)
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file, { readOnly: true })
  database.exec("PRAGMA cache_size = -2048")
  const select = database.prepare(
    "SELECT segment, segment_crc32, json_crc32, json_bytes FROM groups JOIN payloads USING (id) WHERE id = ?",
  )
  const memory = new MemoryPool(pooledBytes)

  /** From the memory that SQLite's bindings made for it to memory that is used again, unless it is too large for that. */
  const putIntoPool = (segment: Uint8Array): Uint8Array => {
    const room = memory.take(segment.length)
    if (room instanceof ArrayBuffer) return segment
    const copy = new Uint8Array(room, 0, segment.length)
    copy.set(segment)
    if (segment.buffer instanceof ArrayBuffer) segment.buffer.transfer(0)
    return copy
  }

  const read = (groupId: number): ReadReply => {
    try {
      const row = select.get(groupId)
      if (row === undefined) throw unknownGroup(groupId)
      const segment = row["segment"]
      if (!(segment instanceof Uint8Array) || zlibCrc32(segment) !== row["segment_crc32"]) {
        throw damagedRun(file, `the bytes of group ${groupId} are not those that were written`)
      }
      const [crc32, jsonBytes] = [Number(row["json_crc32"]), Number(row["json_bytes"])]
      return { groupId, payload: { segment: putIntoPool(segment), crc32, jsonBytes } }
    } catch (error) {
      return { groupId, error: packError(describeSqliteError(error, file)) }
    }
  }
  port.on("message", ({ groupIds, freed }: ReadRequest) => {
    for (const buffer of freed) memory.give(buffer)
    for (const groupId of groupIds) {
      const reply = read(groupId)
      const buffer = "payload" in reply ? reply.payload.segment.buffer : null
      port.postMessage(reply, buffer instanceof ArrayBuffer ? [buffer] : [])
    }
  })
}

if (parentPort !== null) start(parentPort, workerData as ReaderOptions)
