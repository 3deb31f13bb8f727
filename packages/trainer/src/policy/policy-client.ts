import { setTimeout as sleep } from "node:timers/promises"

import { AtroposError, isAtroposError, type Logger, silentLogger } from "atropos-rl"

import { decodeWeights, encodeWeights, type VersionedWeights } from "./safetensors.ts"

export interface PolicyClientOptions {
  /** Where the policy answers, such as `http://127.0.0.1:9001`. */
  url: string
  /** How long a call is tried again while the policy cannot be had. @default 60_000 */
  patienceMs?: number
  logger?: Logger
}

const firstPauseMs = 100
const longestPauseMs = 5000

/** The trainer's side of a policy server: its weights, there and back. */
export class PolicyClient {
  readonly #url: string
  readonly #patienceMs: number
  readonly #logger: Logger

  constructor({ url, patienceMs = 60_000, logger = silentLogger }: PolicyClientOptions) {
    this.#url = `${url.replace(/\/+$/, "")}/weights`
    this.#patienceMs = patienceMs
    this.#logger = logger
  }

  async getWeights(signal: AbortSignal): Promise<VersionedWeights> {
    return decodeWeights(await this.#call({ signal }))
  }

  /** Resolves when the policy samples with them. */
  async putWeights(weights: VersionedWeights, signal: AbortSignal): Promise<void> {
    const headers = { "content-type": "application/octet-stream" }
    await this.#call({ method: "PUT", body: encodeWeights(weights), headers, signal })
  }

  /** Both calls may be repeated: weights put twice are put once. */
  async #call(request: RequestInit & { signal: AbortSignal }): Promise<Uint8Array> {
    const giveUpAt = performance.now() + this.#patienceMs
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        return await this.#attempt(request)
      } catch (error) {
        const isFinal = isAtroposError(error) && !error.retryable
        if (isFinal || request.signal.aborted || performance.now() + pauseMs > giveUpAt) throw error
        if (pauseMs === firstPauseMs) {
          this.#logger.warn(`the policy did not answer ${this.#url} (atropos policy starts one); trying again`, {
            error: describeFailure(error),
          })
        }
      }
      await sleep(pauseMs, undefined, { signal: request.signal })
    }
  }

  async #attempt(request: RequestInit): Promise<Uint8Array> {
    const response = await fetch(this.#url, request)
    if (response.ok) return new Uint8Array(await response.arrayBuffer())
    const words = (await response.text()).slice(0, 500)
    throw new AtroposError(
      "server-refused",
      `${request.method ?? "GET"} ${this.#url} was answered with ${response.status}: ${words}` +
        (response.status === 404 ? ". That is no server of atropos policy: --policy-url says where one is" : ""),
      { facts: { status: response.status }, retryable: response.status >= 500 },
    )
  }
}

/** Of a fetch, what says why is in the cause. */
function describeFailure(error: unknown): string {
  const cause = error instanceof TypeError && error.cause instanceof Error ? error.cause : error
  return cause instanceof Error && cause.message !== "" ? cause.message : String(error)
}
