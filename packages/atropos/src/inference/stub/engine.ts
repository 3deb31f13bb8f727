import { setTimeout as sleep } from "node:timers/promises"

import type { LogprobsMode } from "../inference-server.ts"
import { CutConnection, FailInside, type StubFault } from "./faults.ts"
import {
  cutSample,
  drawSeed,
  sampleAnswer,
  type Piece,
  type Sample,
  type ScriptedAnswer,
  type StubRequest,
} from "./generation.ts"
import type { StubModel } from "./stub-model.ts"

export interface EngineOptions {
  seed: number
  /** Before the first token. */
  latencyMs: number
  /** Between tokens; below a millisecond several come at once. */
  millisecondsPerToken: number
}

export interface RunOptions {
  mode: LogprobsMode
  signal: AbortSignal
  /** A name by which the run can be aborted. */
  id?: string | undefined
  fault?: StubFault | undefined
  scripted?: (index: number) => ScriptedAnswer | undefined
  /** Called with what comes; every answer has exactly one last piece. */
  onPiece?: (piece: Piece) => void
}

interface Run {
  id: string | undefined
  abort(): void
}

/** Generates in the time it is told to, while weights change, generation is paused and requests are aborted. */
export class StubEngine {
  version = "default"
  readonly model: StubModel
  readonly #options: EngineOptions
  readonly #runs = new Set<Run>()
  #frozen: Promise<void> | undefined
  #thaw: (() => void) | undefined
  #count = 0

  constructor(model: StubModel, options: EngineOptions) {
    this.model = model
    this.#options = options
  }

  get running(): number {
    return this.#runs.size
  }

  /** Holds running and new requests until `thaw`. */
  freeze(): void {
    this.#frozen ??= new Promise((resolve) => {
      this.#thaw = resolve
    })
  }

  thaw(): void {
    this.#thaw?.()
    this.#frozen = undefined
    this.#thaw = undefined
  }

  /** Ends running requests with what they have, all or those of these ids; resolves to their number. */
  abort(ids?: readonly string[]): number {
    const runs = [...this.#runs].filter(({ id }) => ids === undefined || (id !== undefined && ids.includes(id)))
    for (const run of runs) run.abort()
    return runs.length
  }

  /** The answers to one request, prompt by prompt. */
  async run(requests: readonly StubRequest[], options: RunOptions): Promise<Sample[]> {
    const count = this.#count++
    const { latencyMs, millisecondsPerToken } = this.#options
    const samples = requests.flatMap((request) =>
      Array.from({ length: options.fault?.kind === "one-choice" ? 1 : request.n }, (_, index) => {
        const draw = drawSeed(this.#options.seed, request, count, index)
        return sampleAnswer(this.model, request, options.mode, draw, options.scripted?.(index))
      }),
    )
    if (this.#frozen === undefined && latencyMs === 0 && millisecondsPerToken === 0) {
      return this.#runAtOnce(samples, options)
    }
    return this.#runInTime(samples, options)
  }

  #runAtOnce(samples: readonly Sample[], options: RunOptions): Sample[] {
    return samples.map((whole, index) => {
      const sample = this.#withFault(whole, options.fault)
      const { onPiece } = options
      const failAt = failsAt(options.fault)
      if (onPiece === undefined) {
        if (failAt !== undefined) throw failure(options.fault)
        return sample
      }
      const { length } = sample.tokens
      if (length === 0) onPiece({ index, sample, from: 0, to: 0, last: true })
      for (let at = 0; at < length; at++) {
        if (at === failAt) throw failure(options.fault)
        onPiece({ index, sample, from: at, to: at + 1, last: at + 1 === length })
      }
      return sample
    })
  }

  /** The answer as its fault leaves it, with the versions that sampled it. */
  #withFault(sample: Sample, fault: StubFault | undefined): Sample {
    const { length } = sample.tokens
    if (fault?.kind === "new-weights" && fault.atToken < length) {
      const before = { version: this.version, start: 0, end: fault.atToken }
      this.version = fault.version
      const after = { version: this.version, start: fault.atToken, end: length }
      return { ...sample, versions: before.end > 0 ? [before, after] : [after] }
    }
    const cut = fault?.kind === "abort" ? cutSample(this.model, sample, fault.afterTokens) : sample
    return { ...cut, versions: [{ version: this.version, start: 0, end: cut.tokens.length }] }
  }

  async #runInTime(samples: readonly Sample[], options: RunOptions): Promise<Sample[]> {
    const { latencyMs, millisecondsPerToken } = this.#options
    const { fault, signal } = options
    const ended = new AbortController()
    const run: Run = { id: options.id, abort: () => ended.abort() }
    const wait = AbortSignal.any([ended.signal, signal])
    const pause = async (milliseconds: number): Promise<void> => {
      if (milliseconds > 0) await sleep(milliseconds, undefined, { signal: wait }).catch(() => undefined)
      while (this.#frozen !== undefined && !wait.aborted) await raceAbort(this.#frozen, wait)
    }
    this.#runs.add(run)
    try {
      await pause(latencyMs)
      const atOnce = millisecondsPerToken >= 1 ? 1 : Math.max(1, Math.ceil(1 / Math.max(millisecondsPerToken, 1e-3)))
      const longest = Math.max(0, ...samples.map(({ tokens }) => tokens.length))
      const aborted = new Set<number>()
      const growing = samples.map((sample): Sample => ({ ...sample, versions: [] }))
      const abortAfter = fault?.kind === "abort" ? fault.afterTokens : Number.POSITIVE_INFINITY
      let done = 0
      while (done < longest && !ended.signal.aborted && done < abortAfter) {
        await pause(millisecondsPerToken * atOnce)
        signal.throwIfAborted()
        if (ended.signal.aborted) break
        const to = Math.min(done + atOnce, longest, abortAfter)
        for (; done < to; done++) this.#addToken(growing, done, options)
      }
      if (ended.signal.aborted || done >= abortAfter) {
        for (const [index, sample] of growing.entries()) if (sample.tokens.length > done) aborted.add(index)
      }
      return growing.map((sample, index) => {
        if (!aborted.has(index)) return sample
        const cut = cutSample(this.model, sample, done)
        options.onPiece?.({ index, sample: cut, from: done, to: done, last: true })
        return cut
      })
    } finally {
      this.#runs.delete(run)
    }
  }

  #addToken(samples: readonly Sample[], at: number, options: RunOptions): void {
    const { fault } = options
    if (at === failsAt(fault)) throw failure(fault)
    if (fault?.kind === "new-weights" && fault.atToken === at) this.version = fault.version
    for (const [index, sample] of samples.entries()) {
      if (at >= sample.tokens.length) continue
      const last = sample.versions.at(-1)
      if (last?.version === this.version) last.end = at + 1
      else sample.versions.push({ version: this.version, start: at, end: at + 1 })
      options.onPiece?.({ index, sample, from: at, to: at + 1, last: at + 1 === sample.tokens.length })
    }
  }
}

/** The token at which a fault strikes; at the first one unless it says otherwise. */
function failsAt(fault: StubFault | undefined): number | undefined {
  return fault?.kind === "cut" || fault?.kind === "error-inside" ? (fault.afterTokens ?? 0) : undefined
}

function failure(fault: StubFault | undefined): Error {
  return fault?.kind === "error-inside" ? new FailInside(fault) : new CutConnection()
}

function raceAbort(promise: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onAbort = (): void => resolve()
    signal.addEventListener("abort", onAbort, { once: true })
    void promise.then(() => {
      signal.removeEventListener("abort", onAbort)
      resolve()
    })
  })
}
