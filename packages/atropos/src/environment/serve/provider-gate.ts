import type { Logger } from "../../runtime/logger.ts"

const firstWaitMs = 500
const longestWaitMs = 30_000

/**
 * Holds back new items while the inference servers fail, so that an outage does not burn through the data. Opens
 * by itself after a wait that grows with every failure, and at once after a success.
 */
export class ProviderGate {
  readonly #onOpen: () => void
  #waitMs = 0
  #timer: NodeJS.Timeout | undefined

  constructor(onOpen: () => void) {
    this.#onOpen = onOpen
  }

  get open(): boolean {
    return this.#timer === undefined
  }

  fail(logger: Logger, detail: string): void {
    if (this.#timer !== undefined) return
    this.#waitMs = Math.min(longestWaitMs, Math.max(firstWaitMs, this.#waitMs * 2))
    logger.warn(`no new items for ${this.#waitMs / 1000} s: ${detail}`)
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#onOpen()
    }, this.#waitMs)
  }

  succeed(): void {
    this.#waitMs = 0
    if (this.#timer === undefined) return
    this.close()
    this.#onOpen()
  }

  close(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}
