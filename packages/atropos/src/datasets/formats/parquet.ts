import { open, type FileHandle } from "node:fs/promises"
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib"

import { parquetMetadataAsync, parquetReadObjects, type AsyncBuffer } from "hyparquet"

import { asRow, brokenData, type PlacedRow } from "./row.ts"

/** Rows that are decoded at once, at most. */
const chunkRows = 1000

const compressors = {
  GZIP: (input: Uint8Array) => new Uint8Array(gunzipSync(input)),
  BROTLI: (input: Uint8Array) => new Uint8Array(brotliDecompressSync(input)),
  ZSTD: (input: Uint8Array) => new Uint8Array(zstdDecompressSync(input)),
}

/** A Parquet file, some rows at a time. Whole numbers come as numbers where a double holds them, else as bigint. */
export async function* readParquet(file: string): AsyncGenerator<PlacedRow | Error> {
  const handle = await open(file)
  try {
    const buffer = await bufferOf(handle)
    const metadata = await parquetMetadataAsync(buffer)
    const total = Number(metadata.num_rows)
    let start = 0
    for (const group of metadata.row_groups) {
      const groupEnd = start + Number(group.num_rows)
      while (start < groupEnd) {
        const end = Math.min(groupEnd, start + chunkRows, total)
        const rows = await parquetReadObjects({ file: buffer, metadata, rowStart: start, rowEnd: end, compressors })
        for (const [index, row] of rows.entries()) {
          const place = `row ${start + index + 1}`
          yield { row: asRow(plain(row), file, place), place }
        }
        start = end
      }
    }
  } catch (error) {
    throw brokenData(file, undefined, `not readable as Parquet: ${error instanceof Error ? error.message : ""}`, error)
  } finally {
    await handle.close()
  }
}

async function bufferOf(handle: FileHandle): Promise<AsyncBuffer> {
  const { size } = await handle.stat()
  return {
    byteLength: size,
    async slice(start, end = size) {
      const bytes = new Uint8Array(Math.max(0, end - start))
      const { bytesRead } = await handle.read(bytes, 0, bytes.length, start)
      return bytes.buffer.slice(0, bytesRead)
    },
  }
}

/** 64-bit integers as numbers where they fit, all the way down. */
function plain(value: unknown): unknown {
  if (typeof value === "bigint") {
    return value >= Number.MIN_SAFE_INTEGER && value <= Number.MAX_SAFE_INTEGER ? Number(value) : value
  }
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plain(inner)]))
  }
  return value
}
