import type { ServerResponse } from "node:http"

import type { Piece } from "../bytes/stitch/coalesce.ts"

/** Bytes that wait for the connection at most: with less of them a quick reader waits for us at every group. */
const windowBytes = 4 * 1024 * 1024

/** Writes a long answer at the pace of its reader; one that takes nothing for too long is cut. */
export class ResponseWriter {
  readonly #response: ServerResponse
  readonly #signal: AbortSignal | undefined

  constructor(response: ServerResponse, stallMs: number, signal?: AbortSignal) {
    this.#response = response
    this.#signal = signal
    // The connection's own timer knows how much of a write is still queued: a slow reader is not a stalled one.
    response.setTimeout(stallMs, () => this.cut())
    // A connection that breaks is seen by whoever waits; without a listener it would end the process.
    response.on("error", () => {})
  }

  /** Resolves, when there is room for more, to whether anybody still reads. */
  write(pieces: readonly Piece[]): boolean | Promise<boolean> {
    if (this.#isOver()) return this.cut()
    let isTaken = true
    for (const { bytes, free } of pieces) {
      // Bytes of a connection that broke are left to the garbage collector: something may still look at them.
      const sent = (error?: Error | null): void => {
        if (error === undefined || error === null) free?.()
      }
      isTaken = this.#response.write(bytes, free === undefined ? undefined : sent)
    }
    return isTaken || this.#response.writableLength < windowBytes || this.#waitFor("drain")
  }

  /** Resolves to whether everything has been handed to the connection. */
  async end(): Promise<boolean> {
    if (this.#isOver()) return this.cut()
    const finished = this.#waitFor("finish")
    this.#response.end()
    return finished
  }

  /** Breaks the connection, so that the client can not take the part for the whole. */
  cut(): false {
    this.#response.destroy()
    return false
  }

  #isOver(): boolean {
    return this.#response.destroyed || this.#signal?.aborted === true
  }

  #waitFor(event: "drain" | "finish"): Promise<boolean> {
    return new Promise((resolve) => {
      const settle = (result: boolean): void => {
        this.#response.off(event, succeed).off("close", fail)
        this.#signal?.removeEventListener("abort", fail)
        if (!result) this.cut()
        resolve(result)
      }
      const succeed = (): void => settle(true)
      const fail = (): void => settle(false)
      this.#response.once(event, succeed).once("close", fail)
      this.#signal?.addEventListener("abort", fail, { once: true })
    })
  }
}
