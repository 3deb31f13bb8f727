import { randomBytes } from "node:crypto"
import { connect, type Socket } from "node:net"

import { Agent, request as send } from "undici"
import { onTestFinished } from "vitest"

import type { RegisterEnvironmentRequest, RegisterRequest } from "../../packages/atropos/src/protocol/messages.ts"
import { createMemoryStore } from "../../packages/atropos/src/server/stores/memory-store.ts"
import type { Commit, Store } from "../../packages/atropos/src/server/stores/store.ts"
import {
  createTrajectoryServer,
  type TrajectoryServer,
  type TrajectoryServerOptions,
} from "../../packages/atropos/src/server/trajectory-server.ts"

export interface Answer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
  // Tests look into answers of many shapes.
  // oxlint-disable-next-line typescript/no-explicit-any
  json: any
}

export interface RequestOptions {
  body?: unknown
  raw?: Buffer | string
  headers?: Record<string, string>
  signal?: AbortSignal
}

/** A listening server with a clock that the test moves, closed when the test ends. */
export class ServerUnderTest {
  readonly server: TrajectoryServer
  readonly url: string
  readonly clock: { ms: number }
  readonly #agent: Agent

  private constructor(server: TrajectoryServer, url: string, clock: { ms: number }, agent: Agent) {
    this.server = server
    this.url = url
    this.clock = clock
    this.#agent = agent
  }

  static async start(
    options: Partial<TrajectoryServerOptions> & { clock?: { ms: number } } = {},
  ): Promise<ServerUnderTest> {
    const { clock = { ms: 1_800_000_000_000 }, ...rest } = options
    const server = createTrajectoryServer({ store: createMemoryStore(), now: () => clock.ms, ...rest })
    const url = await server.listen({ host: "127.0.0.1", port: 0 })
    const agent = new Agent()
    const started = new ServerUnderTest(server, url, clock, agent)
    onTestFinished(() => started.stop())
    return started
  }

  async stop(): Promise<void> {
    await this.#agent.destroy()
    await this.server.close({ graceMs: 0 })
  }

  async request(method: "GET" | "POST", path: string, options: RequestOptions = {}): Promise<Answer> {
    const { body, raw, headers, signal } = options
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await send(this.url + path, {
      method,
      dispatcher: this.#agent,
      headers: { ...(content === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(content === undefined ? {} : { body: content }),
      ...(signal === undefined ? {} : { signal }),
    })
    const text = await response.body.text()
    const isJson = String(response.headers["content-type"]).startsWith("application/json")
    return { status: response.statusCode, headers: response.headers, text, json: isJson ? JSON.parse(text) : null }
  }

  get(path: string, options?: RequestOptions): Promise<Answer> {
    return this.request("GET", path, options)
  }

  post(path: string, body?: unknown, options?: RequestOptions): Promise<Answer> {
    return this.request("POST", path, { ...options, body })
  }

  /** A connection of its own, to send and to break off at will. */
  async connect(): Promise<Socket> {
    const { hostname, port } = new URL(this.url)
    const socket = connect(Number(port), hostname)
    await new Promise<void>((resolve, reject) => socket.once("connect", resolve).once("error", reject))
    return socket
  }

  /** A trainer registers and polls once, so that environments may come. */
  async begin(changes: Partial<RegisterRequest> = {}): Promise<void> {
    await this.post("/register", { ...trainer, ...changes })
    await this.get("/batch")
  }

  async registerEnvironment(changes: Partial<RegisterEnvironmentRequest> = {}): Promise<number> {
    const { json } = await this.post("/register-env", { ...environment, ...changes })
    return Number(json.env_id)
  }

  push(marker: number, changes: GroupChanges = {}, options?: RequestOptions): Promise<Answer> {
    return this.post("/scored_data", wireGroup(marker, changes), options)
  }
}

export const trainer: RegisterRequest = {
  wandb_group: "g",
  wandb_project: "p",
  batch_size: 4,
  max_token_len: 64,
  checkpoint_dir: "/c",
  save_checkpoint_interval: 5,
  starting_step: 0,
  num_steps: 100,
}

const environment: RegisterEnvironmentRequest = { max_token_length: 64, desired_name: "e", weight: 1, group_size: 4 }

export interface GroupChanges {
  size?: number
  env_id?: number | null
  /** Characters of ballast, of a kind that does not compress. */
  ballast?: number
}

/** A group that its first token names. */
export function wireGroup(marker: number, { size = 4, env_id = null, ballast = 0 }: GroupChanges = {}): object {
  const rows = Array.from({ length: size }, (_, row) => [marker, row])
  const images = ballast === 0 ? null : randomBytes(Math.ceil(ballast * 0.75)).toString("base64")
  return { tokens: rows, masks: rows, scores: rows.map(() => 0.5), env_id, images }
}

/** The markers of a batch's groups. */
export function markersOf(answer: Answer): number[] | null {
  const groups = answer.json.batch as { tokens: number[][] }[] | null
  return groups?.map(({ tokens }) => tokens[0]?.[0] ?? -1) ?? null
}

/** A memory store whose commits wait or fail when the test says so. */
export class GatedStore implements Store {
  readonly kind = "gated"
  readonly #inner = createMemoryStore()
  #gate: Promise<void> = Promise.resolve()
  #open: () => void = () => {}
  failure: Error | null = null
  /** Commits that wait at the gate. */
  waiting = 0

  get compactionDue(): boolean {
    return false
  }
  get payloadBytes(): number {
    return this.#inner.payloadBytes
  }

  hold(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gate = promise
    this.#open = resolve
  }

  release(): void {
    this.#open()
  }

  recover: Store["recover"] = () => this.#inner.recover()
  read: Store["read"] = (groupId) => this.#inner.read(groupId)
  compact: Store["compact"] = (snapshot) => this.#inner.compact(snapshot)
  close: Store["close"] = async () => {}

  async commit(commit: Commit): Promise<void> {
    this.waiting += 1
    await this.#gate
    this.waiting -= 1
    if (this.failure !== null) throw this.failure
    await this.#inner.commit(commit)
  }
}

/** Waits until something is so, turn by turn. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setImmediate(resolve))
}
