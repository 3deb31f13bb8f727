/** Pieces below this are copied together; larger ones go out as they are. */
const smallPiece = 4096
const bufferSize = 65_536
/** Enough for what stands between large pieces: most answers need no more. */
const firstBufferSize = 1024

/** Bytes of an answer. */
export interface Piece {
  bytes: Uint8Array
  /** To be called when they have been sent, if they are in memory that is used again. */
  free?: (() => void) | undefined
}

/** Gathers small pieces, so that an answer of many tiny groups is not as many writes. */
export class Coalescer {
  private buffer = new Uint8Array(firstBufferSize)
  private used = 0

  /** What can be sent now that `bytes` came after everything so far. */
  push(bytes: Uint8Array, free?: () => void): Piece[] {
    if (bytes.length >= smallPiece) return [...this.flush(), { bytes, free }]
    const full = this.used + bytes.length > this.buffer.length ? this.flush() : []
    if (bytes.length > this.buffer.length) this.buffer = new Uint8Array(bufferSize)
    this.buffer.set(bytes, this.used)
    this.used += bytes.length
    free?.()
    return full
  }

  /** What is left. It may wait in a socket's queue, so its bytes are not written again. */
  flush(): Piece[] {
    if (this.used === 0) return []
    const bytes = this.buffer.subarray(0, this.used)
    this.buffer = this.buffer.subarray(this.used)
    this.used = 0
    return [{ bytes }]
  }
}
