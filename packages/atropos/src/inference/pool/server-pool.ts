import { setTimeout as sleep } from "node:timers/promises"

import type { TokenIdList } from "../../chat/token-ids.ts"
import { AtroposError, isAtroposError } from "../../runtime/errors.ts"
import { silentLogger, type Logger } from "../../runtime/logger.ts"
import type {
  ChatCompletions,
  ChatRequest,
  CompletionDelta,
  FinishReason,
  InferenceServer,
  PromptLogprobs,
  RequestOptions,
  SamplingOptions,
  TokenCompletions,
} from "../inference-server.ts"
import type { SingleServer } from "../servers/open-server.ts"
import { fillChoices, type Choices, type PieceOptions } from "./fill-choices.ts"
import { HealthWatch } from "./health-watch.ts"
import { PlaceQueue } from "./place-queue.ts"
import { PooledServer } from "./pooled-server.ts"
import { defaultRetryPolicy, delayBeforeRetry, type RetryPolicy } from "./retry-policy.ts"
import { openSession, type SessionOptions } from "../session/recorded-session.ts"
import type { Session } from "../session/session.ts"

export interface PoolMember {
  server: SingleServer
  /** Training requests at once. @default 512 */
  trainPlaces?: number
  /** Evaluation requests at once. @default 64 */
  evalPlaces?: number
  /** Requests that its metrics look back on. @default 1000 */
  metricsLength?: number
  /** It gives one answer whatever `n` asks for; found out otherwise. @default false */
  ignoresN?: boolean
}

export interface ServerPoolOptions {
  /** Answers that one request asks for at most; more are split. @default 8 */
  maxCompletions?: number
  /** How long one request may wait for a place, paused and unhealthy servers included. @default 1_800_000 */
  waitMs?: number
  retry?: Partial<RetryPolicy>
  /** Between two rounds of health checks. @default 1000 */
  healthIntervalMs?: number
  /** Whether servers that do not answer are struck off until they do. @default true */
  healthChecks?: boolean
  /** What can be done when no server is there; said once, if none has answered a request yet. */
  wayOut?: string
  logger?: Logger
  /** In [0, 1). @default Math.random */
  random?: () => number
}

/**
 * Several inference servers as one. Owns who may ask what when: places for training and evaluation apart, the choice
 * of server, health, and every retry there is. Never hangs: each wait is bounded, takes a signal, and says what for.
 */
export class ServerPool implements InferenceServer {
  readonly name: string
  readonly baseUrl: string
  readonly #servers: readonly PooledServer[]
  readonly #queue: PlaceQueue
  readonly #watch: HealthWatch
  readonly #retry: RetryPolicy
  readonly #logger: Logger
  readonly #random: () => number
  readonly #maxCompletions: number
  readonly #waitMs: number

  constructor(members: readonly PoolMember[], options: ServerPoolOptions = {}) {
    const [first] = members
    if (first === undefined) {
      throw new AtroposError("bad-option", "a pool needs at least one inference server, received none")
    }
    this.name = members.length === 1 ? first.server.name : `${members.length} inference servers`
    this.baseUrl = first.server.baseUrl
    this.#servers = members.map(
      ({ server, trainPlaces = 512, evalPlaces = 64, metricsLength = 1000, ignoresN = false }) =>
        new PooledServer(server, { limits: { train: trainPlaces, eval: evalPlaces }, metricsLength, ignoresN }),
    )
    this.#logger = options.logger ?? silentLogger
    this.#queue = new PlaceQueue(this.#servers)
    this.#retry = { ...defaultRetryPolicy, ...options.retry }
    this.#random = options.random ?? Math.random
    this.#maxCompletions = options.maxCompletions ?? 8
    this.#waitMs = options.waitMs ?? 1_800_000
    this.#watch = new HealthWatch({
      servers: this.#servers,
      queue: this.#queue,
      logger: this.#logger,
      intervalMs: options.healthIntervalMs ?? 1000,
      strikesOff: options.healthChecks ?? true,
      ...(options.wayOut === undefined ? {} : { wayOut: options.wayOut }),
    })
  }

  /** Opens a session whose calls this pool answers. */
  session(options: Omit<SessionOptions, "server">): Session {
    return openSession({ ...options, server: this })
  }

  /** Asks all servers whether they are well now, not only at the first request: who is missing is told early. */
  look(): void {
    this.#watch.look()
  }

  /** Scales every server's places: this environment's share, as the trajectory server says. */
  setWeight(weight: number): void {
    for (const server of this.#servers) server.weight = weight
    for (const server of this.#servers) this.#queue.wake(server)
  }

  /** Of the latest requests, under the original's names. */
  metrics(): Record<string, number> {
    return Object.assign({}, ...this.#servers.map((server, index) => server.metrics.report(index))) as Record<
      string,
      number
    >
  }

  /** How each server is and what it has to do, for a status page. */
  status(): { name: string; state: "well" | "unhealthy" | "paused"; train: number; eval: number }[] {
    return this.#servers.map(({ server, state, active }) => ({
      name: server.name,
      state: state.kind,
      train: active.train,
      eval: active.eval,
    }))
  }

  completeTokens(
    prompt: TokenIdList,
    sampling: SamplingOptions,
    options: RequestOptions = {},
  ): Promise<TokenCompletions> {
    return this.#fill(sampling.n, options, (server, n, request) =>
      server.completeTokens(prompt, { ...sampling, n }, request),
    )
  }

  chat(request: ChatRequest, options: RequestOptions = {}): Promise<ChatCompletions> {
    const { sampling } = request
    return this.#fill(sampling?.n, options, (server, n, piece) =>
      server.chat({ ...request, sampling: { ...sampling, n } }, piece),
    )
  }

  complete(prompt: string, sampling: SamplingOptions, options: RequestOptions = {}): Promise<ChatCompletions> {
    return this.#fill(sampling.n, options, (server, n, request) => server.complete(prompt, { ...sampling, n }, request))
  }

  promptLogprobs(
    prompt: readonly number[],
    topK: number,
    options: Omit<RequestOptions, "onDelta"> = {},
  ): Promise<PromptLogprobs> {
    return this.#request(options, ({ server }) => server.promptLogprobs(prompt, topK, options))
  }

  /** Resolves when one of the servers is well. */
  async health(options: { signal?: AbortSignal } = {}): Promise<void> {
    const checks = await Promise.allSettled(this.#servers.map(({ server }) => server.health(options)))
    if (checks.some(({ status }) => status === "fulfilled")) return
    const failed = checks.find((check) => check.status === "rejected")
    throw failed?.reason
  }

  /** The oldest that a server has. */
  async policyVersion(options: { signal?: AbortSignal } = {}): Promise<number | undefined> {
    const answers = await Promise.allSettled(this.#servers.map(({ server }) => server.policyVersion(options)))
    const versions = answers.flatMap((answer) =>
      answer.status === "fulfilled" && answer.value !== undefined ? [answer.value] : [],
    )
    if (versions.length > 0) return Math.min(...versions)
    const failed = answers.find((answer) => answer.status === "rejected")
    if (failed !== undefined) throw failed.reason
    return undefined
  }

  async close(): Promise<void> {
    this.#watch.close()
    await Promise.all(this.#servers.map(({ server }) => server.close()))
  }

  #fill<Choice extends { finishReason: FinishReason }, Answer extends Choices<Choice>>(
    n: number | undefined,
    options: RequestOptions,
    ask: (server: SingleServer, n: number, request: RequestOptions) => Promise<Answer & Choices<Choice>>,
  ): Promise<Choices<Choice>> {
    return fillChoices<Choice>(
      {
        n: n ?? 1,
        perRequest: () => (this.#servers.every((server) => server.ignoresN) ? 1 : this.#maxCompletions),
        signal: options.signal,
        onDelta: options.onDelta,
      },
      (wanted, piece) => this.#ask(wanted, options, piece, ask),
    )
  }

  /** One request, tried again as often as it takes; an answer of which nothing was finished counts as a failure. */
  #ask<Choice extends { finishReason: FinishReason }>(
    wanted: number,
    options: RequestOptions,
    piece: PieceOptions,
    ask: (server: SingleServer, n: number, request: RequestOptions) => Promise<Choices<Choice>>,
  ): Promise<Choices<Choice>> {
    let passedOn = false
    const { onDelta } = piece
    const request: RequestOptions = {
      ...options,
      ...(piece.signal === undefined ? {} : { signal: piece.signal }),
      ...(onDelta === undefined
        ? {}
        : {
            onDelta: (delta: CompletionDelta) => {
              // Providers begin with a piece that has nothing in it, long before the first token.
              if (isEmpty(delta)) return
              passedOn = true
              onDelta(delta)
            },
          }),
    }
    return this.#request(
      request,
      async (pooled) => {
        const n = pooled.ignoresN ? 1 : wanted
        const answer = await ask(pooled.server, n, request)
        const [first] = answer.choices
        if (n > 1 && answer.choices.length === 1 && !pooled.ignoresN) {
          pooled.ignoresN = true
          this.#logger.info(`${pooled.server.name} gives one answer whatever n asks for: asking it singly`)
        }
        if (answer.choices.every(({ finishReason }) => finishReason === "abort")) throw notSampled(pooled, first)
        // Pieces of an aborted answer cannot be taken back.
        if (passedOn && answer.choices.some(({ finishReason }) => finishReason === "abort"))
          throw notSampled(pooled, first)
        return answer
      },
      () => passedOn,
    )
  }

  async #request<T>(
    options: RequestOptions,
    run: (server: PooledServer) => Promise<T>,
    passedOn: () => boolean = () => false,
  ): Promise<T> {
    const { split = "train", stickyKey, signal } = options
    const tried = new Set<PooledServer>()
    let attempts = 0
    let waitMs = this.#waitMs
    this.#watch.touch()
    for (;;) {
      const asked = performance.now()
      const place = await this.#queue.take({ split, stickyKey, tried, signal, waitMs })
      const { server } = place
      const started = performance.now()
      waitMs = Math.max(1, waitMs - (started - asked))
      let delayMs: number
      try {
        const value = await run(server)
        server.lastSuccess = performance.now()
        server.failuresInARow = 0
        server.metrics.add(split, (server.lastSuccess - started) / 1000, attempts + 1)
        return value
      } catch (error) {
        if (signal?.aborted || !isAtroposError(error)) throw error
        if (error.facts["paused"] === true && !passedOn()) {
          // The queue holds the request until the server takes some again; that is no failure of its.
          this.#watch.pause(server)
          continue
        }
        attempts += 1
        tried.add(server)
        if (error.retryable) server.failuresInARow += 1
        if (error.code === "inference-network") this.#watch.suspect(server)
        const delay = passedOn() ? undefined : delayBeforeRetry(error, attempts, this.#retry, this.#random)
        if (delay === undefined) throw error
        delayMs = delay
        this.#logger.debug(`${error.message}; trying again`, { attempt: attempts, delayMs: Math.round(delayMs) })
      } finally {
        place.release()
      }
      await sleep(delayMs, undefined, signal === undefined ? {} : { signal }).catch((error: unknown) => {
        throw signal?.aborted ? signal.reason : error
      })
    }
  }
}

function isEmpty({ choice: _choice, ...pieces }: CompletionDelta): boolean {
  return Object.values(pieces).every((piece) => piece.length === 0)
}

function notSampled({ server }: PooledServer, choice: { finishReason: FinishReason } | undefined): AtroposError {
  const what = choice === undefined ? "answered without a choice" : "aborted the answer in the middle"
  return new AtroposError("inference-aborted", `${server.name} ${what}: there is no sample`, { retryable: true })
}
