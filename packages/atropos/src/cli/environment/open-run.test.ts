import { expect, onTestFinished, test, vi } from "vitest"

import { defineEnvironment } from "../../environment/define-environment.ts"
import { ServerPool } from "../../inference/pool/server-pool.ts"
import { openRun, type OpenRun } from "./open-run.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"
import { resolveConfiguration } from "./resolve-configuration.ts"

const tiny = defineEnvironment({ name: "tiny", rows: [1], prompt: () => "say something:", score: () => 1 })

async function open(...argv: string[]): Promise<OpenRun> {
  const { flags } = readNamespacedFlags(["--testing", ...argv])
  const configuration = resolveConfiguration({ about: tiny.about, flags, file: null })
  const run = await openRun(tiny, configuration, { stderr: () => {}, environment: {} })
  onTestFinished(() => run.close())
  return run
}

test("what registration and status tell reaches the sessions and the servers", async () => {
  const weights = vi.spyOn(ServerPool.prototype, "setWeight")
  onTestFinished(() => weights.mockRestore())
  const run = await open("--env.max_token_length", "1000")
  run.limits.registered?.({
    id: 0,
    name: "tiny_0",
    checkpointDir: "",
    checkpointInterval: 0,
    startingStep: 0,
    numSteps: 1,
    batchSize: 8,
    maxTokenLen: 20,
  })
  const { signal } = new AbortController()
  const session = run.openSession({ agent: "policy", split: "train", signal, random: run.random })
  const answer = await session.complete("say something for as long as it goes:")
  const [sequence] = session.sequences()
  expect(sequence?.tokens.length).toBeLessThan(20)
  expect(answer.tokenIds.length).toBeGreaterThan(0)
  const status = {
    current_step: 0,
    queue_size: 0,
    unallocated_fraction: 1,
    self_queue_size: 0,
    max_group_size: 1,
    env_weight: 0.25,
  }
  run.limits.status?.({ status, inFlight: 0, limit: 0, started: 0 })
  expect(weights).toHaveBeenCalledWith(0.25)
  expect(run.providerIsWell()).toBe(true)
})

test("a seed fixes the sources of randomness; without one they differ", async () => {
  const draw = async (...argv: string[]): Promise<number> => (await open(...argv)).random.next()
  expect(await draw("--env.seed", "3")).toBe(await draw("--env.seed", "3"))
  expect(await draw()).not.toBe(await draw())
})
