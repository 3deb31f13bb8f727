/** Pieces below this are copied together; larger ones go out as they are. */
const smallPiece = 4096
const bufferSize = 65_536
/** Enough for what stands between large pieces: most answers need no more. */
const firstBufferSize = 1024

/** Gathers small pieces, so that an answer of many tiny groups is not as many writes. */
export class Coalescer {
  private buffer = new Uint8Array(firstBufferSize)
  private used = 0

  /** What can be sent now that `piece` came after everything so far. */
  push(piece: Uint8Array): Uint8Array[] {
    if (piece.length >= smallPiece) return [...this.flush(), piece]
    const full = this.used + piece.length > this.buffer.length ? this.flush() : []
    if (piece.length > this.buffer.length) this.buffer = new Uint8Array(bufferSize)
    this.buffer.set(piece, this.used)
    this.used += piece.length
    return full
  }

  /** What is left. It may wait in a socket's queue, so its bytes are not written again. */
  flush(): Uint8Array[] {
    if (this.used === 0) return []
    const sent = this.buffer.subarray(0, this.used)
    this.buffer = this.buffer.subarray(this.used)
    this.used = 0
    return [sent]
  }
}
