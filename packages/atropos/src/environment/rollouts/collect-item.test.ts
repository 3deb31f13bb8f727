import { expect, onTestFinished, test, vi } from "vitest"

import { AtroposError } from "../../runtime/errors.ts"
import type { EnvironmentConfig } from "../config/environment-config.ts"
import type { EnvironmentClass } from "../environment-class.ts"
import { Environment } from "../environment.ts"
import type { TrajectoryGroup } from "../groups/trajectory-group.ts"
import { openTrial } from "../testing/trial.ts"
import type { GroupRun } from "./group-run.ts"
import { describeFailure, within } from "./rollout-failure.ts"
import type { Rollout, RolloutResult } from "./rollout.ts"

/** An environment of one item whose rollouts do what `body` says. */
function environment(
  body: (rollout: Rollout) => Promise<RolloutResult | undefined>,
  collect?: (group: GroupRun) => Promise<TrajectoryGroup[] | undefined>,
): EnvironmentClass<string> {
  return class extends Environment<string> {
    static readonly about = { name: "tiny", defaults: { groupSize: 3 } }

    override nextItem(): string {
      return "item"
    }

    override collectTrajectory(_item: string, rollout: Rollout<EnvironmentConfig>): Promise<RolloutResult | undefined> {
      return body(rollout)
    }

    override async collectTrajectories(
      item: string,
      group: GroupRun,
    ): ReturnType<Environment<string>["collectTrajectories"]> {
      return collect === undefined ? super.collectTrajectories(item, group) : collect(group)
    }
  }
}

const asks = async ({ session, index }: Rollout): Promise<RolloutResult> => {
  const answer = await session.complete("say something:")
  return { score: answer.tokenIds.length + index }
}

test("a rollout that throws is data with its boundary, and its siblings go on", async () => {
  const failures: [() => Error | Promise<never>, string, boolean][] = [
    [() => new Error("a slip"), "environment: a slip", false],
    [() => within("sandbox", () => Promise.reject(new Error("killed"))), "sandbox: killed", false],
    [() => new AtroposError("inference-network", "refused", { retryable: true }), "provider: refused", true],
    [() => new AtroposError("no-room", "context full"), "environment: context full", false],
  ]
  for (const [fail, described, retryable] of failures) {
    const finished: number[] = []
    const trial = await openTrial(
      environment(async (rollout) => {
        if (rollout.index === 1) {
          const error = await fail()
          throw error
        }
        const result = await asks(rollout)
        finished.push(rollout.index)
        return result
      }),
      { answer: () => "words" },
    )
    const collected = await trial.collect()
    expect(collected.failures.map((failure) => [describeFailure(failure), failure.retryable])).toEqual([
      [described, retryable],
    ])
    expect(new Set(finished)).toEqual(new Set([0, 2]))
    expect(collected.dropped).toMatchObject([{ reason: "rollout-failed", group: { sequences: [{}, {}] } }])
  }
})

test("a provider's failure is the provider's also when scoring met it", async () => {
  const trial = await openTrial(
    environment(async () =>
      within("scorer", () =>
        Promise.reject(new AtroposError("inference-timeout", "judge is slow", { retryable: true })),
      ),
    ),
    { answer: () => "" },
  )
  const { failures } = await trial.collect()
  expect(failures).toMatchObject(Array(3).fill({ boundary: "provider", retryable: true }))
})

test("a rollout that ignores its signal is left behind when its time is over", async () => {
  const signals: AbortSignal[] = []
  const trial = await openTrial(
    environment(({ signal }) => {
      signals.push(signal)
      return new Promise(() => {})
    }),
    { answer: () => "", config: { workerTimeout: 0.02 } },
  )
  const { failures } = await trial.collect()
  expect(failures.map(({ boundary }) => boundary)).toEqual(["timeout", "timeout", "timeout"])
  expect(signals.every(({ aborted }) => aborted)).toBe(true)
})

test("worker_timeout -1 sets no limit", async () => {
  const trial = await openTrial(environment(asks), {
    answer: ({ index }) => "word ".repeat(index),
    config: { workerTimeout: -1 },
  })
  expect((await trial.collect()).groups).toHaveLength(1)
})

test("the group's own work has the same limit, not counting the time of its rollouts", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const slowRollouts = async (group: GroupRun): Promise<TrajectoryGroup[]> => {
    const rollouts = await group.run(async (rollout) => {
      await new Promise((resolve) => setTimeout(resolve, 60_000))
      return asks(rollout)
    })
    await new Promise((resolve) => setTimeout(resolve, 60_000))
    return group.score(rollouts)
  }
  const trial = await openTrial(environment(asks, slowRollouts), {
    answer: ({ index }) => "word ".repeat(index),
    config: { workerTimeout: 100 },
  })
  const collected = trial.collect()
  await vi.advanceTimersByTimeAsync(120_000)
  expect((await collected).groups).toHaveLength(1)

  const hanging = await openTrial(
    environment(asks, async (group) => {
      await group.run(asks)
      return new Promise(() => {})
    }),
    { answer: () => "x", config: { workerTimeout: 100 } },
  )
  const hung = hanging.collect()
  await vi.advanceTimersByTimeAsync(100_000)
  const { failures, dropped } = await hung
  expect(failures.map(describeFailure)).toEqual([
    "timeout: the group's own work took longer than worker_timeout (100 s)",
  ])
  expect(dropped.map(({ reason }) => reason)).toEqual(["rollout-failed"])
})

test("rollouts of one group have sources of randomness of their own, the same again for the same seed", async () => {
  const draws = async (seed: number): Promise<number[]> => {
    const drawn: number[] = []
    const trial = await openTrial(
      environment(
        async ({ random }) => {
          drawn.push(random.next())
          return undefined
        },
        async (group) => {
          await group.run(async ({ random }) => void drawn.push(random.next()))
          await group.run(async ({ random }) => void drawn.push(random.next()))
          return undefined
        },
      ),
      { answer: () => "", seed },
    )
    await trial.collect()
    return drawn
  }
  const first = await draws(1)
  expect(new Set(first).size).toBe(6)
  expect(await draws(1)).toEqual(first)
  expect(await draws(2)).not.toEqual(first)
})

test("an item of which no group came is counted as nothing", async () => {
  const trial = await openTrial(
    environment(asks, async () => undefined),
    { answer: () => "" },
  )
  expect(await trial.collect()).toMatchObject({ dropped: [{ reason: "nothing" }], productive: false })
})

test("a session has the agent's name once, and no score leaves its sequences out", async () => {
  const trial = await openTrial(
    environment(async ({ session, agent, index }) => {
      await session.complete("a:")
      await agent("helper").complete("b:")
      expect(agent("helper")).toBe(agent("helper"))
      return { score: index }
    }),
    { answer: () => "x" },
  )
  const { groups } = await trial.collect()
  expect(groups).toHaveLength(1)
  expect(trial.policy.calls.map(({ prompt }) => prompt).toSorted()).toEqual(["a:", "a:", "a:", "b:", "b:", "b:"])
})

test("a group that is given up leaves no timer that would keep the process alive", async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const stop = new AbortController()
  const trial = await openTrial(
    environment(() => new Promise(() => {})),
    { answer: () => "", signal: stop.signal, config: { workerTimeout: 100 } },
  )
  const collected = trial.collect()
  await vi.advanceTimersByTimeAsync(10)
  stop.abort()
  await collected
  await vi.advanceTimersByTimeAsync(10)
  expect(vi.getTimerCount()).toBe(0)
})
