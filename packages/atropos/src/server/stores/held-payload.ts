import type { Payload } from "./store.ts"

/** A payload that a store keeps while others look at it: its memory is free when the last of them is done. */
export class HeldPayload {
  readonly #payload: Payload
  #holders = 1

  /** Whoever makes it is its first holder. */
  constructor(payload: Payload) {
    this.#payload = payload
  }

  /** Of the memory, which may be larger than the segment in it. */
  get memoryBytes(): number {
    return this.#payload.segment.buffer.byteLength
  }

  get segmentBytes(): number {
    return this.#payload.segment.byteLength
  }

  /** The payload for one more holder. */
  share(): Payload {
    const { segment, crc32, jsonBytes } = this.#payload
    this.#holders += 1
    let isHeld = true
    return {
      segment,
      crc32,
      jsonBytes,
      free: () => {
        if (isHeld) this.free()
        isHeld = false
      },
    }
  }

  /** The first holder is done. */
  free(): void {
    this.#holders -= 1
    if (this.#holders === 0) this.#payload.free?.()
  }
}
