/** Reads groups on a thread and a connection of its own, so that a batch waits neither for fsync nor for pushes. */
import { join } from "node:path"
import { type MessagePort, parentPort, workerData } from "node:worker_threads"
import { crc32 as zlibCrc32 } from "node:zlib"
import { loadSqlite } from "../../../runtime/sqlite.ts"
import { unknownGroup } from "../store-errors.ts"
import { packError, type ReaderOptions, type ReadReply, type ReadRequest } from "./messages.ts"
import { runFileName } from "./schema.ts"
import { damagedRun, describeSqliteError } from "./sqlite-errors.ts"

function start(port: MessagePort, { directory }: ReaderOptions): void {
  const file = join(directory, runFileName)
  const { DatabaseSync } = loadSqlite()
  const database = new DatabaseSync(file, { readOnly: true })
  database.exec("PRAGMA cache_size = -2048")
  const select = database.prepare(
    "SELECT segment, segment_crc32, json_crc32, json_bytes FROM groups JOIN payloads USING (id) WHERE id = ?",
  )
  const read = (groupId: number): ReadReply => {
    try {
      const row = select.get(groupId)
      if (row === undefined) throw unknownGroup(groupId)
      const segment = row["segment"]
      if (!(segment instanceof Uint8Array) || zlibCrc32(segment) !== row["segment_crc32"]) {
        throw damagedRun(file, `the bytes of group ${groupId} are not those that were written`)
      }
      return { groupId, payload: { segment, crc32: Number(row["json_crc32"]), jsonBytes: Number(row["json_bytes"]) } }
    } catch (error) {
      return { groupId, error: packError(describeSqliteError(error, file)) }
    }
  }
  port.on("message", (groupIds: ReadRequest) => {
    for (const groupId of groupIds) {
      const reply = read(groupId)
      port.postMessage(reply, "payload" in reply ? [reply.payload.segment.buffer as ArrayBuffer] : [])
    }
  })
}

if (parentPort !== null) start(parentPort, workerData as ReaderOptions)
