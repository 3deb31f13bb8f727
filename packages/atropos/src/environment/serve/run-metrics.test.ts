import { expect, test } from "vitest"

import type { Session } from "../../inference/session/session.ts"
import type { MetricsEntry } from "../../tracking/tracker.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import type { Registration } from "./registration.ts"
import { RunMetrics, type RunMetricsOptions } from "./run-metrics.ts"
import { StepLogger } from "./step-logger.ts"

const registration: Registration = {
  id: 0,
  name: "small_0",
  checkpointDir: "",
  checkpointInterval: 0,
  startingStep: 0,
  numSteps: 10,
  batchSize: 8,
  maxTokenLen: 20,
}

function metricsWith(change: Partial<RunMetricsOptions["config"]> = {}): RunMetrics {
  const metrics = new RunMetrics({
    environment: { metrics: () => ({ "train/percent_correct": 0.5 }), tables: () => ({}) },
    config: { numRolloutsToKeep: 32, numRolloutsPerGroupForLogging: 1, maxTokenLength: 100, ...change },
    tokenizer: { decode: (ids) => ids.join(" ") },
    prefix: "",
    serverMetrics: () => ({ "server/server_0_request_time_avg": 2 }),
  })
  metrics.registered(registration)
  return metrics
}

/** Sequences with so many sampled tokens after one of prompt. */
function group(...lengths: number[]): TrajectoryGroup {
  return {
    sequences: lengths.map((length, score) => ({
      tokens: Array.from({ length: length + 1 }, (_, position) => position),
      masks: [-100, ...Array.from({ length }, (_, position) => position)],
      score,
    })),
  }
}

test("logs what was sampled under the original's names, prefixed with the registered one", () => {
  const metrics = metricsWith()
  metrics.groupSent(group(2, 4))
  metrics.groupSent(group(6, 20))
  const { metrics: logged, source } = metrics.entry("env:small_0", 3)
  expect(source).toBe("env:small_0")
  expect(logged).toMatchObject({
    "small_0_train/completion_lengths": 8,
    "small_0_train/completion_lengths_max": 20,
    "small_0_train/completion_lengths_min": 2,
    // 20 of 20 tokens; without a trainer's limit max_token_length counts.
    "small_0_train/completion_lengths_p95": 0.25,
    "small_0_train/percent_correct": 0.5,
    "server/server_0_request_time_avg": 2,
  })
  expect(logged["small_0_train/completion_lengths_std"]).toBeCloseTo(Math.sqrt(50))
  expect(metrics.entry("env:small_0", 4).metrics).toEqual({
    "small_0_train/percent_correct": 0.5,
    "server/server_0_request_time_avg": 2,
  })
})

test("times and counters of items come when there are two, drops, failures and ends as they are", () => {
  const metrics = metricsWith()
  const item = { outcome: "sent" as const, seconds: 1, productive: true, failures: [] }
  metrics.itemEnd(item)
  expect(Object.keys(metrics.entry("", 0).metrics).filter((name) => name.includes("train_perf"))).toEqual([])
  metrics.itemEnd(item)
  metrics.itemEnd({ ...item, seconds: 3 })
  metrics.itemEnd({ ...item, outcome: "dropped", productive: false, seconds: 5 })
  metrics.groupDrop({ reason: "equal-scores", detail: "" })
  metrics.rolloutEnd({
    status: "done",
    index: 0,
    value: { score: 1, end: "turn-limit", metrics: { turns: 4 } },
    sessions: new Map(),
    seconds: 1,
  })
  metrics.rolloutEnd({
    status: "done",
    index: 0,
    value: { score: 1, metrics: { turns: 2 } },
    sessions: new Map(),
    seconds: 1,
  })
  metrics.rolloutEnd({
    status: "failed",
    index: 0,
    failure: { boundary: "provider", cause: 0, retryable: true },
    seconds: 1,
  })
  const { metrics: logged } = metrics.entry("", 1)
  expect(logged).toMatchObject({
    "small_0_train/items_sent_to_api": 2,
    "small_0_train_perf/task_duration_mean": 3,
    "small_0_train_perf/succeeded_task_duration_max": 3,
    "small_0_train/groups_dropped_equal_scores": 1,
    "small_0_train/rollouts_ended_turn_limit": 1,
    "small_0_train/rollouts_ended_finished": 1,
    "small_0_train/rollouts_failed_provider": 1,
    "small_0_train/turns": 3,
  })
  expect(logged).not.toHaveProperty("small_0_train/items_rejected")
})

test("turns are counted by how they were joined, branches by their reason", () => {
  const metrics = metricsWith()
  const counts = {
    calls: 4,
    extends: 2,
    branches: 1,
    fidelity: { exact: 1, whitespace: 1 },
    reasons: { "thinking-dropped": 1 },
  }
  const session = { counts } as unknown as Session
  const single = { counts: { calls: 1, extends: 0, branches: 0, fidelity: {}, reasons: {} } } as unknown as Session
  for (const opened of [session, session, single]) {
    const sessions = new Map([["policy", opened]])
    metrics.rolloutEnd({ status: "done", index: 0, value: { score: 1 }, sessions, seconds: 1 })
  }
  expect(metrics.entry("", 0).metrics).toMatchObject({
    "small_0_train/session_extends": 4,
    "small_0_train/session_extends_exact": 2,
    "small_0_train/session_branches": 2,
    "small_0_train/session_branches_thinking_dropped": 2,
  })
})

test("the table holds the newest groups, so many rollouts of each as are asked for", () => {
  const tableOf = (change: Partial<RunMetricsOptions["config"]>): MetricsEntry["tables"] => {
    const metrics = metricsWith(change)
    metrics.groupSent(group(1, 2))
    metrics.groupSent(group(2, 1))
    return metrics.entry("", 0).tables
  }
  expect(tableOf({})).toEqual([
    {
      name: "small_0_train/rollouts",
      columns: ["text", "score"],
      rows: [
        ["0 1", 0],
        ["0 1 2", 0],
      ],
    },
  ])
  expect(tableOf({ numRolloutsToKeep: 1 })?.[0]?.rows).toEqual([["0 1 2", 0]])
  expect(tableOf({ numRolloutsPerGroupForLogging: -1, numRolloutsToKeep: 1 })?.[0]?.rows).toEqual([
    ["0 1 2", 0],
    ["0 1", 1],
  ])
  expect(tableOf({ numRolloutsToKeep: 0 })).toBeUndefined()
})

test("logs at a new step once enough groups were sent, with the evaluation of before", () => {
  const entries: MetricsEntry[] = []
  const metrics = metricsWith()
  const logger = new StepLogger({
    metrics,
    tracker: { log: (entry) => void entries.push(entry), close: async () => {} },
    minItemsSent: 2,
  })
  logger.registered(registration)
  const at = (step: number): void => {
    const status = {
      current_step: step,
      queue_size: 0,
      unallocated_fraction: 1,
      self_queue_size: 0,
      max_group_size: 1,
      env_weight: 1,
    }
    logger.status({ status, inFlight: 0, limit: 1, started: 0 })
  }
  metrics.groupSent(group(1))
  at(0)
  at(1)
  expect(entries).toEqual([])
  metrics.groupSent(group(1))
  metrics.evaluationEnd({ step: 1, result: { metrics: { "eval/percent_correct": 0.75 } }, seconds: 1 })
  at(1)
  expect(entries).toEqual([])
  at(3)
  expect(entries).toMatchObject([{ source: "env:small_0", step: 3, metrics: { "small_0_eval/percent_correct": 0.75 } }])

  const eager = new StepLogger({
    metrics,
    tracker: { log: (entry) => void entries.push(entry), close: async () => {} },
    minItemsSent: 0,
  })
  eager.registered(registration)
  eager.status({
    status: {
      current_step: 1,
      queue_size: 0,
      unallocated_fraction: 1,
      self_queue_size: 0,
      max_group_size: 1,
      env_weight: 1,
    },
    inFlight: 0,
    limit: 1,
    started: 0,
  })
  expect(entries).toHaveLength(2)
})
