// Draws samples for all requests at once. Every step gives each running sample its next token; between two steps
// finished samples leave, waiting ones enter (their prompts go through the model in one batch) and new weights
// come in. Keys and values of earlier positions lie in host arrays, so that entering and leaving is a copy of
// rows; the model only sees full arrays of a few fixed sizes, for each of which it is compiled once.
import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises"

import { jit, numpy as np, tree, type OwnedFunction } from "@jax-js/jax"

import { startJax } from "./jax.ts"
import { KeyValueCache } from "./key-value-cache.ts"
import { decode, forward, toParameters, type KeysAndValues, type Parameters } from "./model.ts"
import { logSoftmax, pickToken } from "./pick-token.ts"
import type { Policy, Sample, SampleRequest } from "./policy.ts"
import { createRandom, deriveSeed, type Random } from "./random.ts"
import { lengthClass } from "./sizes.ts"
import type { Weights } from "./weights.ts"

export interface SamplerOptions {
  weights: Weights
  /** Weight updates that led to `weights`. @default 0 */
  version?: number
  /** For requests without a seed of their own. @default 0 */
  seed?: number
  /** Samples drawn at once; further ones wait. @default 256 */
  maxRows?: number
}

/** Requests that come in a row are gathered for so long before the first of them is drawn. */
const longestGatherMs = 20
/** A sample enters beside running ones when it has waited for so long. */
const longestWaitMs = 30

interface Row {
  request: SampleRequest
  random: Random
  sample: Sample
  /** Tokens in the cache; the newest token is not, until the next step. */
  cached: number
  newest: number
  maxTokens: number
  /** By `performance.now()`. */
  arrivedAt: number
  end: (sample: Sample) => void
}

type Compiled<F extends (...values: never[]) => unknown> = OwnedFunction<F>
type ModelOutput = { logits: np.Array; cache: KeysAndValues[] }

export async function createSampler(options: SamplerOptions): Promise<Policy> {
  await startJax()
  return new Sampler(options)
}

class Sampler implements Policy {
  readonly config
  readonly #maxRows: number
  readonly #cache: KeyValueCache
  readonly #prefill: Compiled<(parameters: Parameters, tokens: np.Array) => ModelOutput>
  readonly #decode: Compiled<
    (parameters: Parameters, tokens: np.Array, positions: np.Array, cached: KeysAndValues[]) => ModelOutput
  >
  #weights: Weights
  #version: number
  #parameters: Parameters
  #pending: { weights: Weights; version: number; done: () => void }[] = []
  #waiting: Row[] = []
  #running: Row[] = []
  #loop: Promise<void> | undefined
  #requests = 0
  readonly #seed: number
  #closed = false

  constructor({ weights, version = 0, seed = 0, maxRows = 256 }: SamplerOptions) {
    const config = weights.config
    this.config = config
    this.#weights = weights
    this.#version = version
    this.#seed = seed
    this.#maxRows = maxRows
    this.#parameters = toParameters(weights)
    this.#cache = new KeyValueCache(config)
    this.#prefill = jit((parameters: Parameters, tokens: np.Array) => forward(config, parameters, tokens))
    this.#decode = jit((parameters: Parameters, tokens: np.Array, positions: np.Array, cached: KeysAndValues[]) =>
      decode(config, parameters, tokens, positions, cached),
    )
  }

  get version(): number {
    return this.#version
  }

  get weights(): Weights {
    return this.#weights
  }

  get load(): { running: number; waiting: number } {
    return { running: this.#running.length, waiting: this.#waiting.length }
  }

  async sample(request: SampleRequest): Promise<Sample[]> {
    const seed = request.seed ?? deriveSeed(this.#seed, this.#requests++)
    const maxTokens = Math.min(request.maxTokens, this.config.contextLength - request.prompt.length)
    const samples = Array.from(
      { length: request.n },
      (_, index) =>
        new Promise<Sample>((end) => {
          const sample: Sample = {
            tokenIds: [],
            logprobs: [],
            alternatives: [],
            finishReason: "length",
            stopReason: null,
            versions: [],
          }
          if (maxTokens < 1) return end(sample)
          const random = createRandom(deriveSeed(seed, index))
          const arrivedAt = performance.now()
          this.#waiting.push({ request, random, sample, cached: 0, newest: -1, maxTokens, arrivedAt, end })
        }),
    )
    this.#start()
    return Promise.all(samples)
  }

  async score(tokens: readonly number[]): Promise<Float64Array[]> {
    const length = Math.min(lengthClass(tokens.length), this.config.contextLength)
    const padded = new Int32Array(length)
    padded.set(tokens)
    const output = this.#prefill(tree.ref(this.#parameters), np.array(padded, { shape: [1, length] }))
    tree.dispose(output.cache)
    const logits = await read(output.logits)
    const { vocabularySize } = this.config
    return tokens.map((_, at) => logSoftmax(logits.subarray(at * vocabularySize, (at + 1) * vocabularySize)))
  }

  setWeights(weights: Weights, version: number): Promise<void> {
    return new Promise((done) => {
      this.#pending.push({ weights, version, done })
      this.#start()
    })
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#loop
    tree.dispose(this.#parameters)
    this.#prefill.dispose()
    this.#decode.dispose()
  }

  #start(): void {
    if (this.#closed) this.#abortAll()
    else this.#loop ??= this.#run().finally(() => (this.#loop = undefined))
  }

  async #run(): Promise<void> {
    while (this.#pending.length + this.#waiting.length + this.#running.length > 0) {
      if (this.#running.length === 0) await this.#gather()
      this.#takeWeights()
      this.#removeAborted()
      if (this.#closed) this.#abortAll()
      if (this.#shouldAdmit()) await this.#admit()
      if (this.#running.length > 0) await this.#step()
      await nextTurn()
    }
  }

  /** Waits while requests keep coming in: a step costs much the same for one sample and for many. */
  async #gather(): Promise<void> {
    const until = performance.now() + longestGatherMs
    let before: number
    do {
      before = this.#waiting.length
      await sleep(2)
    } while (this.#waiting.length > before && this.#waiting.length < this.#maxRows && performance.now() < until)
  }

  /** New samples enter many at a time, when the running ones have ended or have taken long. */
  #shouldAdmit(): boolean {
    const [oldest] = this.#waiting
    if (oldest === undefined || this.#running.length >= this.#maxRows) return false
    return this.#running.length === 0 || performance.now() - oldest.arrivedAt > longestWaitMs
  }

  #takeWeights(): void {
    const newest = this.#pending.at(-1)
    if (newest === undefined) return
    tree.dispose(this.#parameters)
    this.#parameters = toParameters(newest.weights)
    this.#weights = newest.weights
    this.#version = newest.version
    for (const { done } of this.#pending.splice(0)) done()
  }

  #removeAborted(): void {
    const isAborted = ({ request }: Row): boolean => request.signal?.aborted === true
    for (const row of this.#waiting.filter(isAborted)) finish(row, "abort", null)
    this.#waiting = this.#waiting.filter((row) => !isAborted(row))
    for (let index = this.#running.length - 1; index >= 0; index--) {
      const row = this.#running[index]
      if (row !== undefined && isAborted(row)) this.#leave(index, "abort", null)
    }
  }

  #abortAll(): void {
    for (const row of this.#waiting.splice(0)) finish(row, "abort", null)
    for (let index = this.#running.length - 1; index >= 0; index--) this.#leave(index, "abort", null)
  }

  /** Brings waiting samples in: each prompt goes through the model once, however many samples it has. */
  async #admit(): Promise<void> {
    const entering = this.#waiting.splice(0, this.#maxRows - this.#running.length)
    const byPrompt = new Map<string, Row[]>()
    for (const row of entering) {
      const key = row.request.prompt.join()
      const same = byPrompt.get(key)
      if (same === undefined) byPrompt.set(key, [row])
      else same.push(row)
    }
    const prompts = [...byPrompt.values()]
    for (let start = 0; start < prompts.length; start += promptRows.at(-1) ?? 1) {
      await this.#enter(prompts.slice(start, start + (promptRows.at(-1) ?? 1)))
    }
  }

  async #enter(prompts: readonly (readonly Row[])[]): Promise<void> {
    const longest = Math.max(...prompts.map(([row]) => row?.request.prompt.length ?? 0))
    const length = Math.min(lengthClass(longest), this.config.contextLength)
    const rows = fit(prompts.length, promptRows)
    const tokens = new Int32Array(rows * length)
    for (const [index, [row]] of prompts.entries()) tokens.set(row?.request.prompt ?? [], index * length)
    const output = this.#prefill(tree.ref(this.#parameters), np.array(tokens, { shape: [rows, length] }))
    const logits = await read(output.logits)
    const cache = await Promise.all(output.cache.map(readLayer))
    const { vocabularySize } = this.config
    for (const [index, same] of prompts.entries()) {
      const promptLength = same[0]?.request.prompt.length ?? 0
      const at = (index * length + promptLength - 1) * vocabularySize
      const logprobs = logSoftmax(logits.subarray(at, at + vocabularySize))
      for (const row of same) {
        const slot = this.#running.push(row) - 1
        row.cached = promptLength
        this.#cache.reserve(slot + 1, promptLength + row.maxTokens, slot)
        this.#cache.write(slot, 0, promptLength, cache, index * length)
        this.#append(slot, logprobs)
      }
    }
    this.#removeFinished()
  }

  async #step(): Promise<void> {
    const running = this.#running
    const rows = fit(running.length, [...decodeRows.filter((size) => size < this.#maxRows), this.#maxRows])
    const tokens = new Int32Array(rows)
    const positions = new Int32Array(rows)
    for (const [slot, row] of running.entries()) {
      tokens[slot] = row.newest
      positions[slot] = row.cached
    }
    const output = this.#decode(
      tree.ref(this.#parameters),
      np.array(tokens),
      np.array(positions),
      this.#cache.toArrays(rows),
    )
    const logits = await read(output.logits)
    const cache = await Promise.all(output.cache.map(readLayer))
    const { vocabularySize } = this.config
    for (const [slot, row] of running.entries()) {
      this.#cache.write(slot, row.cached, 1, cache, slot)
      row.cached += 1
      this.#append(slot, logSoftmax(logits.subarray(slot * vocabularySize, (slot + 1) * vocabularySize)))
    }
    this.#removeFinished()
  }

  /** Draws the next token of a running sample. */
  #append(slot: number, logprobs: Float64Array): void {
    const row = this.#running[slot]
    if (row === undefined) return
    const { request, sample } = row
    const banned = sample.tokenIds.length < (request.minTokens ?? 0) ? request.stopTokenIds : undefined
    const token = pickToken(logprobs, { ...request, banned }, row.random)
    row.newest = token
    const position = sample.tokenIds.push(token) - 1
    sample.logprobs.push(logprobs[token] ?? 0)
    if ((request.alternatives ?? 0) > 0) {
      const order = [...logprobs.keys()].toSorted((a, b) => (logprobs[b] ?? 0) - (logprobs[a] ?? 0))
      sample.alternatives.push(
        order.slice(0, request.alternatives).map((tokenId) => ({ tokenId, logprob: logprobs[tokenId] ?? 0 })),
      )
    }
    const span = sample.versions.at(-1)
    if (span?.version === this.#version) span.end = position + 1
    else sample.versions.push({ version: this.#version, start: position, end: position + 1 })
  }

  #removeFinished(): void {
    for (let slot = this.#running.length - 1; slot >= 0; slot--) {
      const row = this.#running[slot]
      if (row === undefined) continue
      const { request, sample } = row
      const stopText = request.stopWhen?.(sample.tokenIds)
      if (request.stopTokenIds.has(row.newest)) this.#leave(slot, "stop", row.newest)
      else if (stopText !== undefined) this.#leave(slot, "stop", stopText)
      else if (sample.tokenIds.length >= row.maxTokens) this.#leave(slot, "length", null)
    }
  }

  /** The last row moves into the place of the one that leaves, so that running rows stay the first ones. */
  #leave(slot: number, reason: Sample["finishReason"], stopReason: number | string | null): void {
    const leaving = this.#running[slot]
    const last = this.#running.pop()
    if (leaving === undefined || last === undefined) return
    if (last !== leaving) {
      this.#running[slot] = last
      this.#cache.move(this.#running.length, slot, last.cached)
    }
    finish(leaving, reason, stopReason)
  }
}

function finish(row: Row, reason: Sample["finishReason"], stopReason: number | string | null): void {
  row.sample.finishReason = reason
  row.sample.stopReason = stopReason
  row.end(row.sample)
}

async function read(array: np.Array): Promise<Float32Array> {
  const data = await array.data()
  if (data instanceof Float32Array) return data
  throw new TypeError(`expected 32-bit floats from the model, received ${data.constructor.name}`)
}

async function readLayer({ keys, values }: KeysAndValues): Promise<{ keys: Float32Array; values: Float32Array }> {
  return { keys: await read(keys), values: await read(values) }
}

/** Rows the model is compiled for; a step takes the smallest that holds the running samples. */
const decodeRows = [1, 4, 16, 64, 256, 1024]
const promptRows = [1, 4, 16, 64]

function fit(count: number, sizes: readonly number[]): number {
  return sizes.find((size) => size >= count) ?? count
}
