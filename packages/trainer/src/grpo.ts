// GRPO: reinforcement learning of the embedded policy from scored groups, in one file.
//
// A step: take a batch of groups from the trajectory server; a sequence's advantage is its score's distance from
// its group's mean, in standard deviations (or what the environment sent); raise, token by token, the clipped
// importance-weighted objective
//     mean over trained tokens of  min(ratio · advantage, clip(ratio, 1 ± clip) · advantage),
//     ratio = exp(logprob now − logprob when sampled)
// by one AdamW update; push the weights to the policy, which may be sampling meanwhile. Environments run ahead by
// a few batches, so samples are a few versions old: the ratio corrects for that, the clip bounds the correction.
//
// Simplifications, on purpose:
// * one gradient update per batch, so only staleness moves the ratio from 1;
// * no reference model and no KL penalty; the KL between sampling and training weights is measured only;
// * every trained token counts the same, whatever the length of its sequence (no 1/length, no length bias);
// * the optimizer runs on the CPU over one flat array, and its state is not in the checkpoints;
// * one process, 32-bit floats, no parallelism.
//
// It speaks to the rest through the public wire API alone, as a trainer in any language would.
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"

import { jit, lax, nn, numpy as np, tree, valueAndGrad } from "@jax-js/jax"
import {
  type BatchGroup,
  isAtroposError,
  type Logger,
  type RegisterRequest,
  silentLogger,
  TrajectoryClient,
} from "atropos-rl"
import { z } from "zod"

import { startJax } from "./policy/jax.ts"
import { forward, type Parameters, toParameters } from "./policy/model.ts"
import { PolicyClient } from "./policy/policy-client.ts"
import { encodeWeights } from "./policy/safetensors.ts"
import { lengthClass } from "./policy/sizes.ts"
import { createWeights, type Weights } from "./policy/weights.ts"

export const grpoSettings = z.object({
  rolloutServerUrl: z.string().default("http://127.0.0.1:8000").describe("the trajectory server"),
  policyUrl: z.string().default("http://127.0.0.1:9001").describe("the policy that takes the weights"),
  batchSize: z.int().min(1).default(256).describe("sequences in a batch"),
  numSteps: z.int().min(1).default(1000).describe("updates to make"),
  learningRate: z.number().positive().default(1e-3).describe("AdamW's step size after the warm-up"),
  warmupSteps: z.int().min(0).default(10).describe("steps over which the learning rate rises from zero"),
  weightDecay: z.number().min(0).default(0).describe("AdamW's decay of the weights, per unit of learning rate"),
  clip: z.number().positive().default(0.2).describe("how far the ratio may move from 1 before it stops counting"),
  maxGradientNorm: z.number().positive().default(1).describe("longer gradients are scaled down to this norm"),
  microBatchTokens: z.int().min(1).default(8192).describe("tokens that go through the model at once; bounds memory"),
  checkpointDir: z.string().default("runs/checkpoints").describe("folder for the weights"),
  saveCheckpointInterval: z.int().min(0).default(0).describe("steps between checkpoints, and one at the end; 0: none"),
  wandbProject: z.string().default("atropos").describe("project that environments log to"),
  wandbGroup: z.string().default("grpo").describe("group that environments log to"),
})

export type GrpoSettings = z.output<typeof grpoSettings>

/** One step's numbers, by the names under which they are logged; docs/trainer.md explains each. */
export type StepMetrics = Record<string, number>

export interface GrpoOptions {
  logger?: Logger
  signal?: AbortSignal
  onStep?: (step: number, metrics: StepMetrics) => void
}

/** Trains until the steps are made or the signal aborts. */
export async function trainGrpo(settings: GrpoSettings, options: GrpoOptions = {}): Promise<void> {
  const { logger = silentLogger, signal = new AbortController().signal, onStep } = options
  await startJax()
  // The other parts may start later than the trainer, or again while it runs.
  const server = new TrajectoryClient({ url: settings.rolloutServerUrl, totalTimeoutMs: patienceMs, logger })
  const policy = new PolicyClient({ url: settings.policyUrl, patienceMs, logger })
  let learner: Learner | undefined
  let saveLast: (() => Promise<void>) | undefined
  try {
    const { weights, version: start } = await policy.getWeights(signal)
    learner = new Learner(weights, settings)
    const optimizer = new AdamW(weights.flat.length, settings)
    const lastStep = start + settings.numSteps
    await server.register(registration(settings, weights, start, lastStep), { signal })
    logger.info("training starts", { parameters: weights.flat.length, version: start })

    for (let step = start + 1; step <= lastStep; step++) {
      const began = performance.now()
      const { groups, batchId } = await nextBatch(server, registration(settings, weights, step - 1, lastStep), {
        logger,
        signal,
      })
      const arrived = performance.now()
      const { rows, skipped } = usableRows(toRows(groups), weights.config)
      if (skipped > 0) logger.warn("left out sequences that do not fit the policy", { step, sequences: skipped })
      const { gradient, metrics } = await learner.gradient(rows)
      const gradientNorm = clipNorm(gradient, settings.maxGradientNorm)
      optimizer.update(weights.flat, gradient)
      const save = (): Promise<void> => saveCheckpoint(settings.checkpointDir, weights, step)
      if (settings.saveCheckpointInterval > 0) saveLast = save
      await policy.putWeights({ weights, version: step }, signal)
      if (isDue(settings.saveCheckpointInterval, step)) {
        await save()
        saveLast = undefined
      }
      // Only now: what a trainer that died had taken is handed out again.
      if (batchId !== undefined) await acknowledge(server, batchId, { logger, signal })
      const ended = performance.now()

      const report: StepMetrics = {
        ...rewardMetrics(groups),
        ...metrics,
        ...stalenessMetrics(groups, step - 1),
        "train/gradient_norm": gradientNorm,
        "train/learning_rate": optimizer.rate,
        "train/skipped_sequences": skipped,
        "time/wait_seconds": (arrived - began) / 1000,
        "time/train_seconds": (ended - arrived) / 1000,
        "time/tokens_per_second": countTokens(groups) / ((ended - began) / 1000),
      }
      onStep?.(step, report)
      await server.log({ source: "trainer", step, metrics: report }, { signal }).catch((error: unknown) => {
        // A server of another make need not take them.
        logger.debug("the server did not take the metrics", { error: String(error) })
      })
    }
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await saveLast?.()
    learner?.dispose()
    await server.close()
  }
}

/** How long the server and the policy may be away. */
const patienceMs = 600_000

/** Waits for a batch as long as it takes; registers again with a server that has lost the run. */
async function nextBatch(
  server: TrajectoryClient,
  registration: RegisterRequest,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<{ groups: BatchGroup[]; batchId: string | undefined }> {
  for (let told: string | undefined; ;) {
    const answer = await server.batch({ waitSeconds: 10, ack: "manual", signal })
    if (answer.status === "error") await server.register(registration, { signal })
    if (answer.batch !== null && answer.batch.length > 0) return { groups: answer.batch, batchId: answer.batch_id }
    const { reason = "the server does not say why" } = await server.status({ signal })
    if (reason !== told) logger.info(`waiting for a batch: ${reason}`)
    told = reason
  }
}

function registration(settings: GrpoSettings, weights: Weights, step: number, lastStep: number): RegisterRequest {
  return {
    wandb_group: settings.wandbGroup,
    wandb_project: settings.wandbProject,
    batch_size: settings.batchSize,
    max_token_len: weights.config.contextLength,
    checkpoint_dir: settings.checkpointDir,
    save_checkpoint_interval: settings.saveCheckpointInterval,
    starting_step: step,
    num_steps: lastStep,
  }
}

// --- From groups to rows -----------------------------------------------------------------------------------------

/** One sequence as the objective needs it; the three lists have one entry a token. */
export interface TrainingRow {
  tokens: number[]
  /** Zero where the token is not trained on. */
  advantages: number[]
  /** Whether the token counts. */
  trained: boolean[]
  /** Log-probabilities when sampled; where there is none (it would be above 0), the ratio is 1. */
  sampledLogprobs: number[]
  /** What the logits were divided by before the log-probabilities were taken. */
  temperature: number
}

/** What stands on the wire where a token was not sampled. */
const noLogprob = 1

export function toRows(groups: readonly BatchGroup[]): TrainingRow[] {
  return groups.flatMap((group) => {
    const supervised = group.group_overrides?.["sft"] === true
    const relative = relativeAdvantages(group.scores)
    return group.tokens.map((tokens, index) => {
      const mask = group.masks[index] ?? []
      const trained = tokens.map((_, position) => position > 0 && mask[position] !== -100)
      const override = group.overrides?.[index] ?? {}
      const silenced = override["set_advantage_to_zero"] === true
      const given = group.advantages?.[index]
      const advantages = tokens.map((_, position) => {
        if (trained[position] !== true || silenced) return 0
        if (supervised) return 1
        return (given?.length === 1 ? given[0] : given?.[position]) ?? relative[index] ?? 0
      })
      const logprobs = supervised ? undefined : group.inference_logprobs?.[index]
      const sampledLogprobs = tokens.map((_, position) => logprobs?.[position] ?? noLogprob)
      return { tokens, advantages, trained, sampledLogprobs, temperature: temperatureOf(group, override) }
    })
  })
}

/** Leaves out what the policy cannot have written: unknown token ids, or more tokens than its context holds. */
export function usableRows(
  rows: readonly TrainingRow[],
  { contextLength, vocabularySize }: Weights["config"],
): { rows: TrainingRow[]; skipped: number } {
  const usable = rows.filter(
    ({ tokens }) => tokens.length <= contextLength && tokens.every((id) => id >= 0 && id < vocabularySize),
  )
  return { rows: usable, skipped: rows.length - usable.length }
}

/** Distance from the group's mean in standard deviations; zero when all scores are equal. */
export function relativeAdvantages(scores: readonly number[]): number[] {
  const mean = average(scores)
  const deviation = Math.sqrt(average(scores.map((score) => (score - mean) ** 2)))
  return scores.map((score) => (deviation < 1e-8 ? 0 : (score - mean) / deviation))
}

/** Raw log-probabilities are the model's own at any temperature; others were taken after the division by it. */
function temperatureOf(group: BatchGroup, override: Record<string, unknown>): number {
  if ((group.generation_params?.["logprobs_mode"] ?? "raw") === "raw") return 1
  const temperature = override["temperature"] ?? group.generation_params?.["temperature"]
  return typeof temperature === "number" && temperature > 0 ? temperature : 1
}

// --- The objective and its gradient ------------------------------------------------------------------------------

/** Token-aligned inputs of the objective, [rows, positions] but for `temperature` [rows, 1] and `count` []. */
export type ObjectiveInputs = {
  inputs: np.Array
  targets: np.Array
  advantages: np.Array
  trained: np.Array
  sampledLogprobs: np.Array
  temperature: np.Array
  /** Trained tokens of the whole batch, which the mean is over. */
  count: np.Array
}

/** The loss (the objective, negated) and sums over the trained tokens for the metrics. */
export function objective(config: Weights["config"], clip: number) {
  return (parameters: Parameters, batch: ObjectiveInputs): [np.Array, np.Array] => {
    const { logits, cache } = forward(config, parameters, batch.inputs)
    tree.dispose(cache)
    const [rows = 0] = batch.targets.shape
    const logprobs = nn.logSoftmax(logits.div(batch.temperature.reshape([rows, 1, 1])), -1)
    const chosen = logprobs.ref.mul(nn.oneHot(batch.targets, config.vocabularySize)).sum(-1)
    const detached = lax.stopGradient(chosen.ref)
    const sampled = np.where(batch.sampledLogprobs.ref.greater(0.5), detached.ref, batch.sampledLogprobs)
    const difference = chosen.sub(sampled.ref).mul(batch.trained.ref)
    const ratio = np.exp(np.clip(difference, -20, 20))
    const clipped = np.clip(ratio.ref, 1 - clip, 1 + clip)
    const free = ratio.ref.mul(batch.advantages.ref)
    const bounded = clipped.mul(batch.advantages)
    const isClipped = bounded.ref.less(free.ref).astype(np.float32).mul(batch.trained.ref)
    const loss = np.minimum(free, bounded).mul(batch.trained.ref).sum().div(batch.count).neg()
    const plain = lax.stopGradient(ratio)
    const entropy = np.exp(logprobs.ref).mul(logprobs).sum(-1).neg()
    const logRatio = detached.sub(sampled).mul(batch.trained.ref)
    // An estimate of KL(sampled ‖ now) that is never negative: ratio − 1 − log ratio.
    const divergence = plain.ref.sub(1).sub(logRatio).mul(batch.trained.ref)
    const sums = np.stack([
      plain.ref.mul(batch.trained.ref).sum(),
      np.max(plain.mul(batch.trained.ref)),
      isClipped.sum(),
      divergence.sum(),
      lax.stopGradient(entropy.mul(batch.trained)).sum(),
    ])
    return [loss, sums]
  }
}

/** Computes gradients of whole batches, in parts of one size so that the model is compiled once for each length. */
export class Learner {
  readonly #weights: Weights
  readonly #settings: GrpoSettings
  readonly #valueAndGradient

  constructor(weights: Weights, settings: GrpoSettings) {
    this.#weights = weights
    this.#settings = settings
    this.#valueAndGradient = jit(valueAndGrad(objective(weights.config, settings.clip), { hasAux: true }))
  }

  async gradient(rows: readonly TrainingRow[]): Promise<{ gradient: Weights; metrics: StepMetrics }> {
    const gradient = createWeights(this.#weights.config)
    const { contextLength } = this.#weights.config
    const positions = Math.min(lengthClass(Math.max(1, ...rows.map((row) => row.tokens.length - 1))), contextLength)
    const { batchSize, microBatchTokens } = this.#settings
    const partRows = Math.min(batchSize, Math.max(1, Math.floor(microBatchTokens / positions)))
    const count = rows.reduce((total, row) => total + row.trained.filter(Boolean).length, 0)
    const parameters = toParameters(this.#weights)
    const totals = { loss: 0, ratio: 0, ratioMax: 0, clipped: 0, divergence: 0, entropy: 0 }
    for (let start = 0; start < rows.length; start += partRows) {
      const part = toInputs(rows.slice(start, start + partRows), partRows, positions, count)
      const [[loss, sums], gradients] = this.#valueAndGradient(tree.ref(parameters), part)
      totals.loss += (await loss.data())[0] ?? 0
      const [ratio = 0, ratioMax = 0, clipped = 0, divergence = 0, entropy = 0] = await sums.data()
      totals.ratio += ratio
      totals.ratioMax = Math.max(totals.ratioMax, ratioMax)
      totals.clipped += clipped
      totals.divergence += divergence
      totals.entropy += entropy
      for (const [name, { data }] of gradient.tensors) {
        const part = await gradients[name]?.data()
        for (let index = 0; index < data.length; index++) data[index] = (data[index] ?? 0) + (part?.[index] ?? 0)
      }
    }
    tree.dispose(parameters)
    const mean = (total: number): number => (count === 0 ? 0 : total / count)
    return {
      gradient,
      metrics: {
        "train/loss": totals.loss,
        "train/ratio_mean": mean(totals.ratio),
        "train/ratio_max": totals.ratioMax,
        "train/clipped_share": mean(totals.clipped),
        "train/kl": mean(totals.divergence),
        "train/entropy": mean(totals.entropy),
        "train/trained_tokens": count,
      },
    }
  }

  dispose(): void {
    this.#valueAndGradient.dispose()
  }
}

/** Pads rows to [rowCount, positions]; the token at t is predicted from what stands before it. */
function toInputs(rows: readonly TrainingRow[], rowCount: number, positions: number, count: number): ObjectiveInputs {
  const shape = [rowCount, positions]
  const ints = (of: (row: TrainingRow, position: number) => number): np.Array => {
    const data = new Int32Array(rowCount * positions)
    fill(data, of)
    return np.array(data, { shape })
  }
  const floats = (of: (row: TrainingRow, position: number) => number): np.Array => {
    const data = new Float32Array(rowCount * positions)
    fill(data, of)
    return np.array(data, { shape })
  }
  const fill = (data: Int32Array | Float32Array, of: (row: TrainingRow, position: number) => number): void => {
    for (const [index, row] of rows.entries()) {
      for (let position = 0; position + 1 < row.tokens.length; position++)
        data[index * positions + position] = of(row, position)
    }
  }
  const temperature = new Float32Array(rowCount).fill(1)
  for (const [index, row] of rows.entries()) temperature[index] = row.temperature
  return {
    inputs: ints((row, position) => row.tokens[position] ?? 0),
    targets: ints((row, position) => row.tokens[position + 1] ?? 0),
    advantages: floats((row, position) => row.advantages[position + 1] ?? 0),
    trained: floats((row, position) => (row.trained[position + 1] === true ? 1 : 0)),
    sampledLogprobs: floats((row, position) => row.sampledLogprobs[position + 1] ?? noLogprob),
    temperature: np.array(temperature, { shape: [rowCount, 1] }),
    count: np.array(Math.max(1, count), { dtype: np.float32 }),
  }
}

// --- The update --------------------------------------------------------------------------------------------------

/** Scales the gradient down to `limit` if it is longer; returns its length before. */
export function clipNorm({ flat }: Weights, limit: number): number {
  const norm = Math.sqrt(flat.reduce((total, value) => total + value * value, 0))
  if (norm > limit) for (let index = 0; index < flat.length; index++) flat[index] = ((flat[index] ?? 0) * limit) / norm
  return norm
}

/** AdamW (Loshchilov and Hutter, 2019) with betas 0.9 and 0.95. */
export class AdamW {
  readonly #settings: Pick<GrpoSettings, "learningRate" | "warmupSteps" | "weightDecay">
  readonly #mean: Float32Array
  readonly #square: Float32Array
  #steps = 0
  /** The step size of the newest update. */
  rate = 0

  constructor(size: number, settings: Pick<GrpoSettings, "learningRate" | "warmupSteps" | "weightDecay">) {
    this.#settings = settings
    this.#mean = new Float32Array(size)
    this.#square = new Float32Array(size)
  }

  update(weights: Float32Array, gradient: Weights): void {
    const { learningRate, warmupSteps, weightDecay } = this.#settings
    this.#steps += 1
    const rate = learningRate * Math.min(1, this.#steps / Math.max(1, warmupSteps))
    this.rate = rate
    const [beta1, beta2] = [0.9, 0.95]
    const correction1 = 1 - beta1 ** this.#steps
    const correction2 = 1 - beta2 ** this.#steps
    for (let index = 0; index < weights.length; index++) {
      const slope = gradient.flat[index] ?? 0
      const mean = (this.#mean[index] ?? 0) * beta1 + slope * (1 - beta1)
      const square = (this.#square[index] ?? 0) * beta2 + slope * slope * (1 - beta2)
      this.#mean[index] = mean
      this.#square[index] = square
      const weight = weights[index] ?? 0
      const step = mean / correction1 / (Math.sqrt(square / correction2) + 1e-8)
      weights[index] = weight - rate * (step + weightDecay * weight)
    }
  }
}

/** A batch that took longer than the server waits has gone back to its queue: it will be trained on once more. */
async function acknowledge(
  server: TrajectoryClient,
  batchId: string,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): Promise<void> {
  try {
    await server.acknowledge(batchId, { signal })
  } catch (error) {
    if (!isAtroposError(error, "server-refused")) throw error
    logger.warn("the server did not take the acknowledgement of a batch", { batchId, error: error.message })
  }
}

function isDue(interval: number, step: number): boolean {
  return interval > 0 && step % interval === 0
}

async function saveCheckpoint(directory: string, weights: Weights, version: number): Promise<void> {
  await mkdir(directory, { recursive: true })
  await writeFile(join(directory, `step_${version}.safetensors`), encodeWeights({ weights, version }))
}

// --- Metrics -----------------------------------------------------------------------------------------------------

function rewardMetrics(groups: readonly BatchGroup[]): StepMetrics {
  const scores = groups.flatMap((group) => group.scores)
  const mean = average(scores)
  return {
    "reward/mean": mean,
    "reward/std": Math.sqrt(average(scores.map((score) => (score - mean) ** 2))),
    "reward/full_share": average(scores.map((score) => (score >= 1 ? 1 : 0))),
    "reward/groups_with_signal": average(groups.map(({ scores: own }) => (own.some((s) => s !== own[0]) ? 1 : 0))),
  }
}

/** Versions between the weights being trained and the oldest that a sequence was sampled with. */
function stalenessMetrics(groups: readonly BatchGroup[], version: number): StepMetrics {
  const oldest = groups.flatMap(({ generation_params: parameters }) => {
    const sequences = spansSchema.safeParse(parameters?.["policy_versions"])
    if (!sequences.success) return []
    return sequences.data.filter((spans) => spans.length > 0).map((spans) => Math.min(...spans.map((s) => s.version)))
  })
  if (oldest.length === 0) return {}
  const staleness = oldest.map((sampled) => version - sampled)
  return { "staleness/mean": average(staleness), "staleness/max": Math.max(...staleness) }
}

const spansSchema = z.array(z.array(z.looseObject({ version: z.number() })))

function countTokens(groups: readonly BatchGroup[]): number {
  return groups.flatMap((group) => group.tokens).reduce((total, tokens) => total + tokens.length, 0)
}

function average(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((total, value) => total + value, 0) / values.length
}
