import { z } from "zod"

const noLimit = -1

/** Who the environment is, where its data go, and how much is sampled. */
export const rolloutConfig = z.object({
  groupSize: z.int().min(1).default(4).describe("rollouts per group"),
  maxTokenLength: z.int().min(1).default(2048).describe("generation budget of a rollout's answer, in tokens"),
  tokenizerName: z
    .string()
    .default("NousResearch/DeepHermes-3-Llama-3-3B-Preview")
    .describe("hub id or directory of the policy's tokenizer"),
  workerTimeout: z.number().default(600).describe("seconds a rollout may take, -1: no limit"),
  seed: z.int().nullable().default(null).describe("fixes items and sampling; null: another run each time"),
  thinkingMode: z
    .boolean()
    .default(false)
    .describe("ask providers for reasoning; on when reasoning_effort or max_reasoning_tokens is set"),
  reasoningEffort: z
    .string()
    .nullable()
    .default(null)
    .describe("how much a provider shall reason: none, minimal, low, medium, high or xhigh"),
  maxReasoningTokens: z
    .int()
    .min(1024)
    .max(32000)
    .nullable()
    .default(null)
    .describe("budget of a provider's reasoning, in tokens"),
  customThinkingPrompt: z
    .string()
    .nullable()
    .default(null)
    .describe("system prompt in thinking mode; read by environments only, the base class does not"),
})

/** How a rollout's calls become training sequences. */
export const sessionConfig = z.object({
  toolCallFormat: z
    .string()
    .nullable()
    .default(null)
    .describe(
      "how the model writes tool calls: hermes, llama3_json, … (vLLM's parser names); null: as its chat template shows",
    ),
  allowInexactTokens: z
    .boolean()
    .default(false)
    .describe("send groups of providers without token ids, re-tokenized and without logprobs; process always does"),
  plainContents: z
    .boolean()
    .default(false)
    .describe("text in messages and tools that spells a control token stays text, and does not become that token"),
  history: z
    .enum(["template", "keep"])
    .default("template")
    .describe("where the chat template drops a thought from history: begin a new sequence, or keep what was sampled"),
  sharedAnswers: z
    .enum(["once", "each"])
    .default("once")
    .describe("an answer that several sequences of a rollout share is trained on in one of them, or in each"),
})

export const trainingConfig = z.object({
  rolloutServerUrl: z.string().default("http://localhost:8000").describe("address of the trajectory server"),
  wandbName: z
    .string()
    .nullable()
    .default(null)
    .describe("name of the run and at registration; null: the environment's name"),
  totalSteps: z
    .int()
    .default(1000)
    .describe("the trainer's step after which serve ends, -1: the trainer's num_steps; process: groups to make"),
  batchSize: z.int().default(noLimit).describe("sequences per batch; the trainer's counts once it has registered"),
  maxBatchesOffpolicy: z.int().min(1).default(3).describe("batches that may wait in the queue"),
  inferenceWeight: z
    .number()
    .default(1)
    .describe("weight among the environments that share the inference servers, -1: not counted"),
  minBatchAllocation: z
    .number()
    .min(0)
    .max(1)
    .nullable()
    .default(null)
    .describe("share of each batch that is kept for this environment"),
  maxNumWorkers: z
    .int()
    .default(noLimit)
    .describe("groups in flight, -1: max_num_workers_per_node for each inference server"),
  maxNumWorkersPerNode: z.int().min(1).default(8).describe("groups in flight per inference server"),
  ensureScoresAreNotSame: z
    .boolean()
    .default(true)
    .describe("drop groups whose scores are all equal (never groups of one)"),
  shutdownGrace: z.number().min(0).default(20).describe("seconds that running rollouts get to finish at SIGTERM"),
})

export const evaluationConfig = z.object({
  stepsPerEval: z.int().default(100).describe("evaluate every so many steps, 0 or less: never"),
  evalAtStart: z.boolean().default(false).describe("evaluate before the first rollout"),
  evalAtEnd: z.boolean().default(false).describe("evaluate after the last step"),
  evalHandling: z
    .enum(["STOP_TRAIN", "LIMIT_TRAIN", "NONE"])
    .default("STOP_TRAIN")
    .describe("what new training rollouts do during an evaluation"),
  evalLimitRatio: z.number().min(0).max(1).default(0.5).describe("share of the workers kept under LIMIT_TRAIN"),
  maxEvalWorkers: z
    .int()
    .default(16)
    .describe("read by environments only; what limits an evaluation is num_requests_for_eval"),
  dataDirToSaveEvals: z.string().nullable().default(null).describe("directory that evaluate writes its files to"),
})

export const loggingConfig = z.object({
  useWandb: z
    .boolean()
    .default(true)
    .describe("asks for Weights & Biases; read by environments only, trackers are chosen by --track"),
  minItemsSentBeforeLogging: z
    .int()
    .default(2)
    .describe("groups to be sent before metrics are logged, 0 or less: log at every step"),
  numRolloutsToKeep: z.int().min(0).default(32).describe("groups shown in the log's table"),
  numRolloutsPerGroupForLogging: z.int().default(1).describe("rollouts of a group in the log's table, -1: all"),
  includeMessages: z
    .boolean()
    .default(false)
    .describe("give groups without messages one user message per sequence with its text"),
  dataPathToSaveGroups: z
    .string()
    .nullable()
    .default(null)
    .describe("JSONL file for the groups; an existing file is kept, the new one gets a suffix _1, _2 …"),
})

export const distillationConfig = z.object({
  teacherEnabled: z.boolean().default(false).describe("ask a teacher model; read by distillation environments only"),
  teacherTopK: z
    .int()
    .min(-1)
    .default(0)
    .describe("teacher tokens per position, 0: the chosen one, -1: off; read by distillation environments only"),
})

/** Every environment's configuration. Extend it with `environmentConfig.extend({ … })`. */
export const environmentConfig = z.object({
  ...rolloutConfig.shape,
  ...sessionConfig.shape,
  ...trainingConfig.shape,
  ...evaluationConfig.shape,
  ...loggingConfig.shape,
  ...distillationConfig.shape,
})

export type EnvironmentConfig = z.output<typeof environmentConfig>

/** How `--help` and the docs arrange the fields. */
export const configTopics: readonly { title: string; fields: readonly string[] }[] = [
  { title: "rollouts", fields: Object.keys(rolloutConfig.shape) },
  { title: "sessions", fields: Object.keys(sessionConfig.shape) },
  { title: "training", fields: Object.keys(trainingConfig.shape) },
  { title: "evaluation", fields: Object.keys(evaluationConfig.shape) },
  { title: "logging", fields: Object.keys(loggingConfig.shape) },
  { title: "distillation", fields: Object.keys(distillationConfig.shape) },
]
