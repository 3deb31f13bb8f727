import { expect, test } from "vitest"

import { VllmServer } from "../../inference/servers/vllm.ts"
import { createModelStub } from "../../inference/stub/model-stub.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { createMemoryStore } from "../../server/stores/memory-store.ts"
import { createTrajectoryServer } from "../../server/trajectory-server.ts"
import { environmentConfig } from "../config/environment-config.ts"
import { defineEnvironment } from "../define-environment.ts"
import { createRandom } from "../random.ts"
import { createSessionFactory } from "../session-factory.ts"
import { serve } from "./serve.ts"

test("serves scored groups to a trainer until the total steps are covered", async () => {
  const server = createTrajectoryServer({ store: createMemoryStore() })
  const url = await server.listen({ host: "127.0.0.1", port: 0 })
  const stub = await createModelStub({ seed: 1 })
  const client = new TrajectoryClient({ url })
  const policy = new VllmServer({ baseUrl: stub.baseUrl, model: "stub" })
  const Lengths = defineEnvironment({
    name: "lengths",
    rows: ["one", "two", "three"],
    prompt: (row) => `count ${row}:`,
    score: (_row, answer) => answer.tokenIds.length,
  })
  await client.register({
    wandb_group: "g",
    wandb_project: "p",
    batch_size: 8,
    max_token_len: 256,
    checkpoint_dir: "",
    save_checkpoint_interval: 0,
    starting_step: 0,
    num_steps: 6,
  })
  const steps: number[] = []
  const training = (async () => {
    while (steps.length < 6) {
      const { batch } = await client.batch({ waitSeconds: 1 })
      if (batch !== null) steps.push(batch.reduce((sum, group) => sum + group.tokens.length, 0))
    }
  })()
  const config = environmentConfig.parse({ totalSteps: 6, groupSize: 4, rolloutServerUrl: url, seed: 3 })
  const summary = await serve({
    environment: new Lengths({
      config,
      logger: silentLogger,
      random: createRandom(3),
      tokenizer: stub.tokenizer,
      helpers: {},
    }),
    name: "lengths",
    config,
    client,
    openSession: createSessionFactory({
      policy,
      tokenizer: stub.tokenizer,
      config,
      maxTokenLen: () => 256,
    }),
    serverCount: 1,
    evaluationConcurrency: 8,
    workingDirectory: "/nonexistent",
    random: createRandom(3),
    logger: silentLogger,
    signal: new AbortController().signal,
    pollMs: 5,
  })
  await training
  expect(steps).toEqual([8, 8, 8, 8, 8, 8])
  expect(summary.end).toBe("steps")
  expect(summary.groupsSent).toBeGreaterThanOrEqual(12)
  await client.close()
  await policy.close()
  await stub.close()
  await server.close()
})
