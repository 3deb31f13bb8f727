import type { InferenceServer } from "../../inference/inference-server.ts"
import type { Session } from "../../inference/session/session.ts"
import type { Logger } from "../../runtime/logger.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { Random } from "../random.ts"
import type { Rollout } from "./rollout.ts"
import { type RolloutFailure, toFailure } from "./rollout-failure.ts"

/** The agent whose session is the rollout's own. */
export const policyAgent = "policy"

/** A rollout that has ended, with its sessions by agent; the rollout's own is `policy`. */
export type EndedRollout<Value> =
  | { status: "done"; index: number; value: Value; sessions: ReadonlyMap<string, Session>; seconds: number }
  | { status: "failed"; index: number; failure: RolloutFailure; seconds: number }

export interface OpenSession {
  (options: {
    agent: string
    split: "train" | "eval"
    signal: AbortSignal
    random: Random
    /** What the rollout is of. */
    item?: unknown
  }): Session
}

export interface RunRolloutOptions<Value, Config extends EnvironmentConfig> {
  item: unknown
  index: number
  split: "train" | "eval"
  run: (rollout: Rollout<Config>) => Promise<Value>
  config: Config
  helpers: Readonly<Record<string, InferenceServer>>
  random: Random
  signal: AbortSignal
  logger: Logger
  step: number
  openSession: OpenSession
}

/** Runs one rollout within its time; it resolves whatever happens, at the latest when the time is over. */
export async function runRollout<Value, Config extends EnvironmentConfig>(
  options: RunRolloutOptions<Value, Config>,
): Promise<EndedRollout<Value>> {
  const { item, index, split, run, config, helpers, random, logger, step, openSession } = options
  const began = performance.now()
  const limit = new AbortController()
  const signal = AbortSignal.any([options.signal, limit.signal])
  const timer = startTimer(config.workerTimeout, limit)
  const sessions = new Map<string, Session>()
  const agent = (name: string): Session => {
    const known = sessions.get(name)
    if (known !== undefined) return known
    const session = openSession({ agent: name, split, signal, random: random.fork(`agent-${name}`), item })
    sessions.set(name, session)
    return session
  }
  const seconds = (): number => (performance.now() - began) / 1000
  try {
    const session = agent(policyAgent)
    const rollout = { session, agent, config, helpers, random, signal, logger, index, split, step }
    const value = await untilAborted(run(rollout), signal)
    return { status: "done", index, value, sessions, seconds: seconds() }
  } catch (error) {
    return { status: "failed", index, failure: toFailure(error, signal), seconds: seconds() }
  } finally {
    clearTimeout(timer)
    // The records can still be read.
    await Promise.all([...sessions.values()].map((opened) => opened.close()))
  }
}

function startTimer(seconds: number, limit: AbortController): NodeJS.Timeout | undefined {
  if (seconds <= 0) return undefined
  return setTimeout(() => {
    limit.abort(new DOMException(`longer than worker_timeout (${seconds} s)`, "TimeoutError"))
  }, seconds * 1000)
}

/** Does not wait for work that ignores its signal. */
export async function untilAborted<Value>(work: Promise<Value>, signal: AbortSignal): Promise<Value> {
  // What it comes to after the abort is nobody's any more.
  work.catch(() => {})
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const stop = (): void => reject(signal.reason)
  signal.addEventListener("abort", stop, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener("abort", stop)
  }
}
