import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"

import {
  createMemoryStore,
  createTrajectoryServer,
  loadTokenizer,
  type ScoredGroup,
  silentLogger,
  TrajectoryClient,
} from "atropos-rl"
import { afterEach, beforeEach, expect, test } from "vitest"

import { grpoSettings, type GrpoSettings, type StepMetrics, trainGrpo } from "./grpo.ts"
import type { Policy } from "./policy/policy.ts"
import { decodeWeights } from "./policy/safetensors.ts"
import { createSampler } from "./policy/sampler.ts"
import { createPolicyServer } from "./policy/server/policy-server.ts"
import { drawWeights } from "./policy/weights.ts"
import { vocabularySize, writeTokenizer } from "./policy/vocabulary.ts"

const config = { vocabularySize: vocabularySize("01"), width: 8, heads: 2, layers: 1, contextLength: 16 }

let directory: string
let policy: Policy
let client: TrajectoryClient
let settings: GrpoSettings
const closing: (() => Promise<unknown>)[] = []

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "grpo-"))
  await writeTokenizer(directory, "01")
  policy = await createSampler({ weights: drawWeights(config, 1), version: 5 })
  const policyServer = createPolicyServer({ policy, tokenizer: await loadTokenizer(directory) })
  const policyUrl = await policyServer.listen({ host: "127.0.0.1", port: 0 })
  const server = createTrajectoryServer({ store: createMemoryStore(), limits: { maxWait: 0.05 } })
  const rolloutServerUrl = await server.listen({ host: "127.0.0.1", port: 0 })
  client = new TrajectoryClient({ url: rolloutServerUrl })
  settings = grpoSettings.parse({
    policyUrl,
    rolloutServerUrl,
    batchSize: 4,
    numSteps: 1,
    warmupSteps: 0,
    checkpointDir: join(directory, "checkpoints"),
  })
  closing.push(
    () => client.close(),
    () => server.close(),
    () => policyServer.close(),
    () => policy.close(),
    () => rm(directory, { recursive: true }),
  )
})

afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

function group(version: number, overrides: Partial<ScoredGroup> = {}): ScoredGroup {
  const tokens = [
    [4, 6, 5, 7, 2],
    [4, 6, 5, 6, 2],
  ]
  return {
    tokens,
    masks: tokens.map((row) => row.map((id, position) => (position < 3 ? -100 : id))),
    scores: [1, 0],
    inference_logprobs: tokens.map((row) => row.map((_, position) => (position < 3 ? 1 : -2))),
    generation_params: { policy_versions: tokens.map(() => [{ version, start: 3, end: 5 }]), logprobs_mode: "raw" },
    ...overrides,
  }
}

async function train(changes: Partial<GrpoSettings> = {}, signal?: AbortSignal): Promise<[number, StepMetrics][]> {
  const steps: [number, StepMetrics][] = []
  await trainGrpo(
    { ...settings, ...changes },
    { onStep: (...step) => steps.push(step), ...(signal === undefined ? {} : { signal }) },
  )
  return steps
}

test("a batch becomes new weights in the policy, a checkpoint, metrics, and a settled batch", async () => {
  await client.pushGroups([group(3), group(4)])
  const before = Float32Array.from(policy.weights.flat)
  const steps = await train({ saveCheckpointInterval: 10 })

  expect(policy.version).toBe(6)
  expect(policy.weights.flat).not.toEqual(before)
  expect(steps.map(([step]) => step)).toEqual([6])
  expect(steps[0]![1]).toMatchObject({
    "reward/mean": 0.5,
    "reward/full_share": 0.5,
    "reward/groups_with_signal": 1,
    "staleness/mean": 1.5,
    "staleness/max": 2,
    "train/trained_tokens": 8,
  })
  const saved = decodeWeights(await readFile(join(settings.checkpointDir, "step_6.safetensors")))
  expect([saved.version, saved.weights.flat]).toEqual([6, policy.weights.flat])
  expect(await client.status()).toMatchObject({ current_step: 6, queue_size: 0 })
  expect(await client.info()).toEqual({ batch_size: 4, max_token_len: 16 })
})

test("what raises the score becomes likelier", async () => {
  const likelihood = async (): Promise<number> => {
    const [sample] = await policy.sample({
      prompt: [4, 6, 5],
      n: 1,
      maxTokens: 1,
      temperature: 0,
      topP: 1,
      topK: 0,
      minP: 0,
      stopTokenIds: new Set(),
      alternatives: 8,
    })
    return sample!.alternatives[0]!.find(({ tokenId }) => tokenId === 7)!.logprob
  }
  const before = await likelihood()
  for (let batch = 0; batch < 5; batch++) {
    await client.pushGroups([group(5, { inference_logprobs: null }), group(5, { inference_logprobs: null })])
  }
  await train({ numSteps: 5, learningRate: 0.01 })
  expect(await likelihood()).toBeGreaterThan(before + 0.1)
})

test("a server that has lost the run gets the trainer's registration again", async () => {
  await client.pushGroups([group(5), group(5)])
  const steps: number[] = []
  const training = trainGrpo(
    { ...settings, numSteps: 2 },
    {
      onStep: (step) => {
        steps.push(step)
        if (step === 6) void client.reset().then(() => client.pushGroups([group(6), group(6)]))
      },
    },
  )
  await training
  expect(steps).toEqual([6, 7])
  expect(await client.status()).toMatchObject({ current_step: 7 })
})

test("sequences that the policy cannot have written are left out, the others are trained on", async () => {
  const foreign = group(5)
  foreign.tokens[1]![4] = 99
  await client.pushGroups([foreign, group(5)])
  const [[, metrics]] = (await train()) as [[number, StepMetrics]]
  expect(metrics).toMatchObject({ "train/skipped_sequences": 1, "train/trained_tokens": 6 })
})

test("what the trainer waits for is said: a policy that is not there, then why there is no batch", async () => {
  const stop = new AbortController()
  const said: string[] = []
  const tell = (message: string): void => {
    said.push(message)
    if (message.startsWith("waiting for a batch")) stop.abort()
  }
  const logger = { ...silentLogger, info: tell, warn: tell }
  await trainGrpo(settings, { logger, signal: stop.signal })
  expect(said).toEqual(["training starts", expect.stringMatching(/^waiting for a batch: .*sequences/)])

  said.length = 0
  const away = new AbortController()
  const nobody = { ...settings, policyUrl: "http://127.0.0.1:1" }
  const warn = (message: string): void => {
    said.push(message)
    away.abort()
  }
  await trainGrpo(nobody, { logger: { ...logger, warn }, signal: away.signal })
  expect(said).toEqual([
    "the policy did not answer http://127.0.0.1:1/weights (atropos policy starts one); trying again",
  ])
})

test("an address where no policy is gets a sentence that says so", async () => {
  const wrong = { ...settings, policyUrl: settings.rolloutServerUrl }
  await expect(trainGrpo(wrong, {})).rejects.toMatchObject({
    code: "server-refused",
    message: expect.stringContaining("no server of atropos policy: --policy-url says where one is"),
  })
})

test("an abort ends the waiting for a batch, and the last weights are saved", async () => {
  await client.pushGroups([group(5), group(5)])
  const stop = new AbortController()
  await trainGrpo(
    { ...settings, numSteps: 100, saveCheckpointInterval: 50 },
    { signal: stop.signal, onStep: () => stop.abort() },
  )
  expect(decodeWeights(await readFile(join(settings.checkpointDir, "step_6.safetensors"))).version).toBe(6)
})

test("the docs explain every metric, and no other", async () => {
  await client.pushGroups([group(5), group(5)])
  const [[, metrics]] = (await train()) as [[number, StepMetrics]]
  const page = await readFile(new URL("../../../docs/trainer.md", import.meta.url), "utf8")
  const table = page.slice(page.indexOf("## Metrics"))
  const rows = table.split("\n").filter((line) => line.startsWith("| `"))
  const explained = rows.flatMap((row) => [...row.split("|")[1]!.matchAll(/`([^`]+)`/g)].map(([, name]) => name))
  expect(new Set(explained)).toEqual(new Set(Object.keys(metrics)))
})
