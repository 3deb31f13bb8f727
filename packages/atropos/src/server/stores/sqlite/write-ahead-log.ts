import { closeSync, openSync, readSync } from "node:fs"

/** What a write-ahead log file holds, read without SQLite and without changing anything. */
export interface WriteAheadLog {
  /** Pages of the database after the last whole transaction in the log; null when there is none. */
  databasePages: number | null
  /** Pages that the log's whole transactions bring. */
  pages: ReadonlySet<number>
  /** What is wrong with it, if something is. */
  damage: string | null
}

const headerBytes = 32
const frameHeaderBytes = 24
const littleEndianMagic = 0x377f0682

/**
 * Walks a log as https://sqlite.org/walformat.html describes it, checksums included. SQLite takes the first frame
 * whose checksum is wrong for the end, as it is after a crash in the middle of a transaction; so a damaged frame
 * silently ends history there. Since each transaction is on the disk before the next is written, a crash can leave
 * at most one commit mark behind a bad frame: more of them mean damage. Likewise with the log's first bytes, which
 * are on the disk before any frame is written.
 */
export function readWriteAheadLog(file: string): WriteAheadLog {
  const descriptor = openSync(file, "r")
  try {
    return walk(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function walk(descriptor: number): WriteAheadLog {
  const pages = new Set<number>()
  const header = Buffer.alloc(headerBytes + frameHeaderBytes)
  const read = readSync(descriptor, header, 0, header.length, 0)
  if (read < header.length || header.every((byte) => byte === 0)) return { databasePages: null, pages, damage: null }
  const magic = header.readUInt32BE(0)
  const sum = new Checksum(magic === littleEndianMagic)
  sum.add(header.subarray(0, 24))
  if (magic >>> 1 !== littleEndianMagic >>> 1 || !sum.equals(header, 24)) {
    return { databasePages: null, pages, damage: "the first bytes of its -wal file are not those of a log" }
  }

  const frame = Buffer.alloc(frameHeaderBytes + header.readUInt32BE(8))
  let databasePages: number | null = null
  let open: number[] = []
  let position = headerBytes
  for (; readSync(descriptor, frame, 0, frame.length, position) === frame.length; position += frame.length) {
    sum.add(frame.subarray(0, 8))
    sum.add(frame.subarray(frameHeaderBytes))
    if (!isOfLog(header, frame) || !sum.equals(frame, 16)) break
    open.push(frame.readUInt32BE(0))
    if (frame.readUInt32BE(4) === 0) continue
    for (const page of open) pages.add(page)
    open = []
    databasePages = frame.readUInt32BE(4)
  }
  let behind = 0
  for (; readSync(descriptor, frame, 0, frameHeaderBytes, position) === frameHeaderBytes; position += frame.length) {
    if (isOfLog(header, frame) && frame.readUInt32BE(4) > 0) behind += 1
  }
  const damage = behind > 1 ? `its -wal file has a bad place, which cuts off ${behind} commits` : null
  return { databasePages, pages, damage }
}

/** Whether a frame is of this use of the log file, which is written over from its start again and again. */
function isOfLog(header: Buffer, frame: Buffer): boolean {
  return header.compare(frame, 8, 16, 16, 24) === 0
}

/** SQLite's running checksum over pairs of 32-bit words. */
class Checksum {
  readonly #littleEndian: boolean
  #first = 0
  #second = 0

  constructor(littleEndian: boolean) {
    this.#littleEndian = littleEndian
  }

  add(bytes: Buffer): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
    let first = this.#first
    let second = this.#second
    for (let index = 0; index < bytes.length; index += 8) {
      first = (first + view.getInt32(index, this.#littleEndian) + second) | 0
      second = (second + view.getInt32(index + 4, this.#littleEndian) + first) | 0
    }
    this.#first = first
    this.#second = second
  }

  equals(bytes: Buffer, offset: number): boolean {
    return bytes.readInt32BE(offset) === this.#first && bytes.readInt32BE(offset + 4) === this.#second
  }
}
