import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest"

import type { RegisterEnvironmentRequest, RegisterEnvironmentResponse } from "../../protocol/messages.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { createStubTokenizer } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import { AtroposError } from "../../runtime/errors.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import { defineEnvironment, type EnvironmentDefinition } from "../define-environment.ts"
import type { EnvironmentClass } from "../environment-class.ts"
import type { RunListener } from "./run-listener.ts"
import { openServer, type Server, startServing, type Started, type StartOptions } from "./serve-fixture.ts"

let server: Server
let running: Started[] = []
beforeEach(async () => {
  server = await openServer()
})
afterEach(async () => {
  await Promise.all(running.map((started) => started.close()))
  running = []
  await server.close()
})

/** Scores by length: the scripted answers differ, so groups are worth sending. */
function lengths(change: Partial<EnvironmentDefinition<number>> = {}): EnvironmentClass<number> {
  return defineEnvironment<number>({
    name: "lengths",
    defaults: { groupSize: 4, totalSteps: 5 },
    rows: [1, 2, 3, 4, 5],
    prompt: (row) => `count ${row}:`,
    score: (_row, answer) => answer.tokenIds.length,
    ...change,
  })
}

function start(
  environmentClass: EnvironmentClass<number>,
  options: Omit<StartOptions<EnvironmentConfig>, "server"> = {},
): Started {
  const started = startServing(environmentClass, { server, ...options })
  running.push(started)
  return started
}

/** As `expect.poll`, with patience for busy machines. */
function eventually<Value>(read: () => Value): ReturnType<typeof expect.poll<Value>> {
  return expect.poll(read, { timeout: 15_000, interval: 10 })
}

/** Resolves when `happens` is true at a status. */
function whenStatus(happens: (event: Parameters<NonNullable<RunListener["status"]>>[0]) => boolean): {
  listener: RunListener
  happened: Promise<void>
} {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { listener: { status: (event) => (happens(event) ? resolve() : undefined) }, happened: promise }
}

test("serves exact batches until the total steps are covered, then disconnects", async () => {
  await server.register()
  const { summary } = start(lengths())
  const batches = await server.train(5)
  expect(batches.map(({ scores }) => scores.map((group) => group.length))).toEqual(Array(5).fill([4, 4]))
  expect(batches.every(({ names }) => names.every((id) => id === 0))).toBe(true)
  const result = await summary
  expect(result).toMatchObject({ end: "steps", groupsDropped: {}, rolloutsFailed: {} })
  expect(result.items.taken).toBe(result.items.sent + result.items.unfinished)
  expect(result.groupsSent).toBe(result.items.sent)
})

test("waits for the server and for a trainer, in whatever order they come", async () => {
  const { summary } = start(lengths({ defaults: { groupSize: 4, totalSteps: 1 } }))
  await server.register()
  await server.train(1)
  expect((await summary).end).toBe("steps")
}, 10_000)

test("total_steps -1 takes the trainer's number of steps", async () => {
  await server.register({ num_steps: 2 })
  const { summary } = start(lengths(), { config: { totalSteps: -1 } })
  await server.train(2)
  expect((await summary).step).toBeLessThanOrEqual(2)
})

test("registers under wandb_name, else the environment's name, with its weight, sizes and minimum", async () => {
  await server.register()
  await server.client.batch()
  const names: string[] = []
  const listeners: RunListener[] = [{ registered: ({ name }) => void names.push(name) }]
  const asked: unknown[] = []
  const recording = new (class extends TrajectoryClient {
    override registerEnvironment(body: RegisterEnvironmentRequest): Promise<RegisterEnvironmentResponse> {
      asked.push(body)
      return super.registerEnvironment(body)
    }
  })({ url: server.url })
  const config = { groupSize: 2, inferenceWeight: 2.5, minBatchAllocation: 0.25, maxTokenLength: 99, totalSteps: -2 }
  for (const wandbName of ["mine", null]) {
    const started = startServing(lengths(), { server, config: { ...config, wandbName }, listeners, client: recording })
    await started.summary
  }
  await recording.close()
  expect(names).toEqual(["mine_0", "lengths_0"])
  expect(asked[0]).toEqual({
    max_token_length: 99,
    desired_name: "mine",
    weight: 2.5,
    group_size: 2,
    min_batch_allocation: 0.25,
  })
})

test("keeps no more groups in flight than max_num_workers, or as many per server as are said for a node", async () => {
  await server.register({ batch_size: 400 })
  for (const [config, serverCount, most] of [
    [{ maxNumWorkers: 3 }, 1, 3],
    [{ maxNumWorkersPerNode: 2 }, 2, 4],
  ] as const) {
    const flights: number[] = []
    const listener: RunListener = { status: ({ inFlight }) => void flights.push(inFlight) }
    const started = start(lengths(), {
      config,
      serverCount,
      listeners: [listener],
      answer: () => new Promise(() => {}),
    })
    await server.client.batch()
    await eventually(() => flights.filter((count) => count === most).length).toBeGreaterThan(2)
    expect(Math.max(...flights)).toBe(most)
    started.stop()
    await started.close()
  }
})

test("stops to begin groups when max_batches_offpolicy batches wait", async () => {
  await server.register()
  const { listener, happened } = whenStatus(({ status, inFlight }) => status.queue_size >= 4 && inFlight === 0)
  start(lengths(), { config: { maxBatchesOffpolicy: 2 }, listeners: [listener] })
  await server.client.batch()
  await happened
  expect((await server.client.status()).queue_size).toBe(4)
})

test("drops groups of equal scores with the reason, unless told not to", async () => {
  await server.register()
  const answer = (): string => "always the same"
  const picky = start(lengths(), { answer })
  await server.client.batch()
  await eventually(() => picky.policy.calls.length).toBeGreaterThan(12)
  picky.stop()
  expect((await picky.summary).groupsDropped["equal-scores"]).toBeGreaterThan(1)
  expect((await picky.summary).groupsSent).toBe(0)

  const lenient = start(lengths(), { answer, config: { ensureScoresAreNotSame: false } })
  await server.train(5)
  expect((await lenient.summary).groupsDropped).toEqual({})
})

test("drops groups of inexact tokens with the reason, unless they are allowed", async () => {
  await server.register()
  const careful = start(lengths(), { exact: false })
  await server.client.batch()
  await eventually(() => careful.policy.calls.length).toBeGreaterThan(12)
  careful.stop()
  expect((await careful.summary).groupsDropped["inexact-tokens"]).toBeGreaterThan(1)
  expect((await careful.summary).groupsSent).toBe(0)

  const lenient = start(lengths(), { exact: false, config: { allowInexactTokens: true } })
  await server.train(5)
  expect((await lenient.summary).groupsDropped).toEqual({})
})

test("groups of one are never equal", async () => {
  await server.register()
  const { summary } = start(lengths({ defaults: { groupSize: 1, totalSteps: 2 } }), { answer: () => "same" })
  await server.train(2)
  expect((await summary).groupsDropped).toEqual({})
})

test("clamps the generation to what the trainer's limit leaves, and drops what is too long all the same", async () => {
  await server.register({ max_token_len: 30 })
  const tokenizer = createStubTokenizer()
  const started = start(lengths({ prompt: (row) => "word ".repeat(row * 6) }))
  const { summary, policy } = started
  await server.client.batch()
  await eventually(() => policy.calls.length).toBeGreaterThan(8)
  started.stop()
  await summary
  for (const { prompt, sampling } of policy.calls) {
    expect(sampling.maxTokens).toBe(29 - tokenizer.encode(prompt).length)
  }
  expect((await summary).rolloutsFailed.environment).toBeGreaterThan(0)
})

test("max_token_length bounds an answer", async () => {
  await server.register()
  const { policy } = start(lengths(), { config: { maxTokenLength: 17 } })
  await server.train(1)
  expect(policy.calls.every(({ sampling }) => sampling.maxTokens === 17)).toBe(true)
})

test("evaluates every steps_per_eval steps, at the start and at the end when asked", async () => {
  await server.register({ num_steps: 9 })
  const steps: number[] = []
  const listeners: RunListener[] = [{ evaluationStart: (step) => void steps.push(step) }]
  const evaluated = lengths({ evaluation: { rows: [1, 2] } })
  const config = { stepsPerEval: 3, totalSteps: 7, evalAtStart: true, evalAtEnd: true, evalHandling: "NONE" as const }
  const { summary } = start(evaluated, { config, listeners })
  const ended = new AbortController()
  const training = server.train(8, ended.signal)
  const { step } = await summary
  ended.abort()
  await training
  expect(steps[0]).toBe(0)
  expect(steps.at(-1)).toBe(step)
  expect(steps.slice(1, -1).every((at) => at >= 3)).toBe(true)
  expect(steps.length).toBeGreaterThanOrEqual(3)
})

test("STOP_TRAIN begins no group during an evaluation and lets running ones finish", async () => {
  await server.register()
  let inEvaluation = false
  let begunMeanwhile = 0
  const evaluation = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  const evaluated = lengths({
    evaluation: { rows: [1] },
    prompt: (row) => {
      if (inEvaluation) begunMeanwhile += 1
      return `count ${row}:`
    },
  })
  let count = 0
  const answer = async ({ split }: { split: string }): Promise<string> => {
    if (split === "eval") {
      inEvaluation = true
      evaluation.resolve()
      await gate.promise
      inEvaluation = false
    }
    return "word ".repeat((count++ % 5) + 1)
  }
  const { summary } = start(evaluated, { answer, config: { stepsPerEval: 2, maxBatchesOffpolicy: 1, totalSteps: 4 } })
  const training = server.train(5)
  await evaluation.promise
  const before = (await server.client.status()).current_step
  await eventually(async () => (await server.client.status()).queue_size).toBe(0)
  expect((await server.client.status()).current_step).toBeGreaterThanOrEqual(before)
  expect(begunMeanwhile).toBe(0)
  gate.resolve()
  await summary
  await training
})

test("ends with a summary when there are no more items", async () => {
  await server.register()
  const { summary } = start(lengths({ epochs: 1 }))
  const training = server.train(2)
  const result = await summary
  expect(result).toMatchObject({ end: "exhausted", items: { taken: 5, sent: 5, dropped: 0, unfinished: 0 } })
  await training
})

test("a rollout that hangs ends at worker_timeout and costs its group, not the run", async () => {
  await server.register()
  let calls = 0
  const { summary } = start(lengths({ epochs: 1 }), {
    config: { workerTimeout: 0.05, groupSize: 2 },
    answer: () => (calls++ === 0 ? new Promise(() => {}) : "word ".repeat(calls % 9)),
  })
  await server.client.batch()
  const result = await summary
  expect(result.rolloutsFailed).toEqual({ timeout: 1 })
  expect(result.groupsDropped).toEqual({ "rollout-failed": 1 })
  expect(result.items).toEqual({ taken: 5, sent: 4, dropped: 1, unfinished: 0 })
})

test("an item whose inference server fails is done again and is not lost", async () => {
  await server.register()
  let failures = 2
  const { summary } = start(lengths({ epochs: 1 }), {
    config: { maxNumWorkers: 1 },
    answer: ({ index }) => {
      if (failures > 0) {
        failures -= 1
        return new AtroposError("inference-network", "connection refused", { retryable: true })
      }
      return "word ".repeat((index % 5) + 1)
    },
  })
  await server.client.batch()
  const result = await summary
  expect(result.rolloutsFailed).toEqual({ provider: 2 })
  expect(result.items).toEqual({ taken: 5, sent: 5, dropped: 0, unfinished: 0 })
})

test("an item that keeps failing while others succeed is dropped and counted", async () => {
  await server.register()
  const { summary } = start(lengths({ epochs: 1, shuffle: false }), {
    providerIsWell: () => true,
    answer: ({ prompt, index }) =>
      prompt.includes("3")
        ? new AtroposError("inference-request", "answered 500", { retryable: true })
        : "word ".repeat((index % 5) + 1),
  })
  await server.client.batch()
  const result = await summary
  expect(result.items).toEqual({ taken: 5, sent: 4, dropped: 1, unfinished: 0 })
  expect(result.groupsDropped).toEqual({ "rollout-failed": 1 })
}, 20_000)

test("registers again with a server that has forgotten it", async () => {
  await server.register()
  const names: string[] = []
  const started = start(lengths(), { listeners: [{ registered: ({ name }) => void names.push(name) }] })
  await server.train(1)
  await server.client.reset()
  await server.register()
  await server.train(5)
  expect((await started.summary).end).toBe("steps")
  expect(names).toEqual(["lengths_0", "lengths_0"])
})

test("a changed batch size and length limit of the trainer are taken over", async () => {
  await server.register()
  const limits: [number, number][] = []
  const listeners: RunListener[] = [
    { registered: ({ batchSize, maxTokenLen }) => void limits.push([batchSize, maxTokenLen]) },
  ]
  start(lengths(), { listeners })
  await server.client.batch()
  await eventually(() => limits.length).toBe(1)
  await server.register({ batch_size: 12, max_token_len: 100 })
  await eventually(() => limits.at(-1)).toEqual([12, 100])
})

test("when told to stop, lets running rollouts finish and sends them", async () => {
  await server.register()
  const gate = Promise.withResolvers<void>()
  const started = start(lengths(), {
    config: { maxNumWorkers: 2, shutdownGrace: 20 },
    answer: async ({ index }) => {
      await gate.promise
      return "word ".repeat((index % 5) + 1)
    },
  })
  await server.client.batch()
  await eventually(() => started.policy.calls.length).toBe(8)
  started.stop()
  gate.resolve()
  const result = await started.summary
  expect(result).toMatchObject({ end: "stopped", groupsSent: 2 })
  expect(result.items).toEqual({ taken: 2, sent: 2, dropped: 0, unfinished: 0 })
})

test("what is not finished after shutdown_grace stands in the checkpoint and is done after a restart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "atropos-serve-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  await server.register({ checkpoint_dir: "checkpoints", save_checkpoint_interval: 2, num_steps: 20 })
  const hanging = new Set<string>()
  const { listener, happened } = whenStatus(({ status, inFlight }) => status.current_step === 4 && inFlight === 2)
  const first = start(lengths({ shuffle: false }), {
    workingDirectory: directory,
    config: { totalSteps: 20, maxNumWorkers: 2, maxBatchesOffpolicy: 1, shutdownGrace: 0.1 },
    listeners: [listener],
    answer: ({ prompt, index }) => {
      // Four batches of two groups of four; the next two groups never end.
      if (index < 32) return "word ".repeat((index % 5) + 1)
      hanging.add(prompt)
      return new Promise(() => {})
    },
  })
  await server.train(4)
  await happened
  await eventually(() => hanging.size).toBe(2)
  const stopped = performance.now()
  first.stop()
  const result = await first.summary
  // The default would have been twenty seconds.
  expect(performance.now() - stopped).toBeLessThan(15_000)
  expect(result.items.unfinished).toBe(2)
  const folder = join(directory, "checkpoints", "env_checkpoints", "lengths_0")
  expect(readdirSync(folder).toSorted()).toEqual(["step-2.json", "step-4.json"])
  const saved = JSON.parse(readFileSync(join(folder, "step-4.json"), "utf8")) as Record<string, unknown>
  expect(saved["iter"]).toBe(result.items.taken)

  const second = start(lengths({ shuffle: false }), { workingDirectory: directory, config: { maxNumWorkers: 2 } })
  await server.train(1)
  const redone = second.policy.calls.slice(0, 8).map(({ prompt }) => prompt)
  expect(new Set(redone)).toEqual(hanging)
})

test("a setup, an item or a checkpoint that throws ends the run with its place", async () => {
  await server.register()
  await server.client.batch()
  const broken = lengths({
    rows: () => {
      throw new Error("no data")
    },
  })
  await expect(start(broken).summary).rejects.toThrow("the environment's setup threw: no data")
  const failing = lengths({
    rows: (function* rows() {
      yield 1
      throw new Error("torn file")
    })(),
  })
  await expect(start(failing).summary).rejects.toThrow("the environment's nextItem threw: torn file")
})

test("group_size above the batch size is refused with the way out", async () => {
  await server.register({ batch_size: 2 })
  await server.client.batch()
  await expect(start(lengths()).summary).rejects.toThrow(/group_size 4 is larger than the trainer's batch_size 2/)
})

test("one seed, one run: the same items and the same sampling seeds", async () => {
  await server.register({ batch_size: 100 })
  await server.client.batch()
  const seedsOf = async (seed: number | null): Promise<unknown[]> => {
    const started = start(lengths({ epochs: 1 }), { config: { seed, maxNumWorkers: 1 } })
    await started.summary
    return started.policy.calls.map(({ prompt, sampling }) => [prompt, sampling.seed])
  }
  const first = await seedsOf(5)
  expect(first).toEqual(await seedsOf(5))
  expect(first).not.toEqual(await seedsOf(6))
  expect(new Set(first.map((call) => JSON.stringify(call))).size).toBe(first.length)
  expect((await seedsOf(null)).every((call) => (call as unknown[])[1] === undefined)).toBe(true)
})
