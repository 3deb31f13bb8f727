import { constants, crc32, deflateRaw } from "node:zlib"
import { promisify } from "node:util"

const deflate = promisify(deflateRaw)
const header = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255)
/** An empty final block. */
const end = Uint8Array.of(3, 0)

/**
 * Gzip in segment form: the deflate data up to the final block ends on a byte boundary, so that it can be cut out
 * and joined with others as it is. Any gzip reader takes it.
 */
export async function gzipSegment(bytes: Uint8Array): Promise<Uint8Array> {
  const segment = await deflate(bytes, { level: 1, finishFlush: constants.Z_SYNC_FLUSH })
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc32(bytes), 0)
  trailer.writeUInt32LE(bytes.length % 2 ** 32, 4)
  return Buffer.concat([header, segment, end, trailer])
}
