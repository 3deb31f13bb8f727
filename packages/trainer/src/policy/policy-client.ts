import { AtroposError } from "atropos-rl"

import { decodeWeights, encodeWeights, type VersionedWeights } from "./safetensors.ts"

/** The trainer's side of a policy server: its weights, there and back. */
export class PolicyClient {
  readonly #url: string

  constructor(url: string) {
    this.#url = `${url.replace(/\/+$/, "")}/weights`
  }

  async getWeights(signal?: AbortSignal): Promise<VersionedWeights> {
    const response = await this.#call({}, signal)
    return decodeWeights(new Uint8Array(await response.arrayBuffer()))
  }

  /** Resolves when the policy samples with them. */
  async putWeights(weights: VersionedWeights, signal?: AbortSignal): Promise<void> {
    const body = encodeWeights(weights)
    const response = await this.#call(
      { method: "PUT", body, headers: { "content-type": "application/octet-stream" } },
      signal,
    )
    await response.arrayBuffer()
  }

  async #call(request: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const response = await fetch(this.#url, signal === undefined ? request : { ...request, signal })
    if (response.ok) return response
    throw new AtroposError(
      "server-refused",
      `${request.method ?? "GET"} ${this.#url} was answered with ${response.status}: ${(await response.text()).slice(0, 500)}`,
      { facts: { status: response.status }, retryable: response.status >= 500 },
    )
  }
}
