const smallest = 4 * 1024

/**
 * All that a store's cache gives back when it begins anew, and some bodies: what is let go of while the server is busy
 * stays resident until V8, which does not count it, collects garbage for other reasons.
 */
const defaultIdleBytes = 96 * 1024 * 1024

/** Larger buffers are not kept. */
export const largestPooled: number = 16 * 1024 * 1024

/**
 * Memory for bodies and segments, which is used again: to allocate megabytes anew for each push costs more than to
 * read them. It is shared, so that other threads look at it without a hand-over, and so that V8 does not count it:
 * for what it counts it collects garbage, again and again.
 */
export class MemoryPool {
  readonly #idle = new Map<number, ArrayBufferLike[]>()
  readonly #maxIdleBytes: number
  #idleBytes = 0

  constructor(maxIdleBytes: number = defaultIdleBytes) {
    this.#maxIdleBytes = maxIdleBytes
  }

  /**
   * A buffer of at least this many bytes. What is too large to keep is not shared: it is freed when it has been
   * handed over, and shared memory only when every thread has let go of it.
   */
  take(bytes: number): ArrayBufferLike {
    if (bytes > largestPooled) return new ArrayBuffer(bytes)
    const size = sizeFor(bytes)
    const buffer = this.#idle.get(size)?.pop()
    if (buffer === undefined) return new SharedArrayBuffer(size)
    this.#idleBytes -= size
    return buffer
  }

  /** Gives a buffer back that nobody looks at any more; what is not of a pool is forgotten. */
  give(buffer: ArrayBufferLike): void {
    const size = buffer.byteLength
    const isPooled = buffer instanceof SharedArrayBuffer && size <= largestPooled && sizeFor(size) === size
    if (!isPooled || this.#idleBytes + size > this.#maxIdleBytes) return
    const idle = this.#idle.get(size)
    if (idle === undefined) this.#idle.set(size, [buffer])
    else idle.push(buffer)
    this.#idleBytes += size
  }
}

/** Four sizes to each doubling. */
function sizeFor(bytes: number): number {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(Math.max(bytes, smallest))) - 3)
  return Math.ceil(Math.max(bytes, smallest) / step) * step
}
