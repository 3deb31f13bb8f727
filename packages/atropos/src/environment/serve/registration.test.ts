import { expect, test } from "vitest"
import type { z } from "zod"

import type { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { AtroposError } from "../../runtime/errors.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { environmentConfig } from "../config/environment-config.ts"
import { register, type Registration } from "./registration.ts"

interface Script {
  /** What each registration is answered with; the last one for good. */
  registrations?: (object | Error)[]
  asked?: unknown[]
  info?: { batch_size: number; max_token_len: number }
}

const accepted = {
  status: "success",
  env_id: 3,
  wandb_name: "tiny_0",
  checkpoint_dir: "",
  starting_step: 7,
  checkpoint_interval: 2,
  num_steps: 9,
}

async function registerWith(
  script: Script,
  config: z.input<typeof environmentConfig> = {},
): Promise<{ registration: Registration; lines: string[] }> {
  const answers = [...(script.registrations ?? [accepted])]
  const client = {
    registerEnvironment: async (_body: unknown, options: unknown) => {
      script.asked?.push(options)
      const answer = answers.length > 1 ? answers.shift() : answers[0]
      if (answer instanceof Error) throw answer
      return answer
    },
    info: async () => script.info ?? { batch_size: 8, max_token_len: 100 },
  } as unknown as TrajectoryClient
  const lines: string[] = []
  const log = (message: string): void => void lines.push(message)
  const registration = await register({
    client,
    config: environmentConfig.parse(config),
    name: "tiny",
    signal: new AbortController().signal,
    logger: { ...silentLogger, info: log, warn: log },
    pollMs: 1,
  })
  return { registration, lines }
}

test("waits for the trainer, and says so once; for a server that is away as long as it takes", async () => {
  const waiting = { status: "wait for trainer to start" }
  const asked: unknown[] = []
  const { registration, lines } = await registerWith({ registrations: [waiting, waiting, accepted], asked })
  expect(registration).toMatchObject({ id: 3, name: "tiny_0", startingStep: 7, batchSize: 8, maxTokenLen: 100 })
  expect(lines).toEqual([expect.stringMatching(/^waiting for a trainer to register and ask for its first batch/)])
  expect(asked).toMatchObject(Array.from({ length: 3 }, () => ({ totalTimeoutMs: Infinity })))
})

test("batch_size counts where the trainer tells none", async () => {
  const silent = { info: { batch_size: -1, max_token_len: -1 } }
  expect((await registerWith(silent, { batchSize: 64 })).registration).toMatchObject({ batchSize: 64, maxTokenLen: -1 })
  expect((await registerWith({}, { batchSize: 64 })).registration.batchSize).toBe(8)
  await expect(registerWith(silent)).rejects.toThrow("set one with --env.batch_size")
})

test("a refusal ends it", async () => {
  const refused = new AtroposError("server-refused", "422: desired_name", { retryable: false })
  await expect(registerWith({ registrations: [refused] })).rejects.toThrow("422: desired_name")
})
