// Every message of the wire contract as a schema; types, OpenAPI and the client come from here.
// Names on the wire are snake_case: this folder is the one place where they live.
import { z } from "zod"

const wireInteger = z.int()

export const registerRequest = z.object({
  wandb_group: z.string().describe("Group of the run in the tracker"),
  wandb_project: z.string().describe("Project of the run in the tracker"),
  batch_size: wireInteger.min(1).describe("Sequences in a batch; every batch has exactly as many"),
  max_token_len: wireInteger.describe("Longest sequence that the trainer takes, in tokens"),
  checkpoint_dir: z.string().describe("Where the trainer keeps its checkpoints"),
  save_checkpoint_interval: wireInteger.describe("Steps between checkpoints"),
  starting_step: wireInteger.describe("Step at which this trainer starts"),
  num_steps: wireInteger.describe("Steps that the trainer will take"),
})
export type RegisterRequest = z.infer<typeof registerRequest>

export const registerResponse = z.object({
  uuid: wireInteger.describe("A fresh 128-bit integer: read the literal, a double can not hold it"),
  status: z.literal("updated").optional().describe("The registration differed from the one before and replaced it"),
})

export const registerEnvironmentRequest = z.object({
  max_token_length: wireInteger.describe("Longest sequence of the environment, in tokens"),
  desired_name: z.string().describe("Name; the answer adds a number to it"),
  weight: z.number().describe("Share of this environment among the others"),
  group_size: wireInteger.min(1).describe("Sequences in a group; smaller groups wait in a buffer to complete it"),
  min_batch_allocation: z
    .number()
    .min(0)
    .max(1)
    .nullish()
    .describe("Least share of every batch that must come from this environment"),
})
export type RegisterEnvironmentRequest = z.infer<typeof registerEnvironmentRequest>

export const registerEnvironmentResponse = z.union([
  z.object({
    status: z.literal("success"),
    env_id: wireInteger,
    wandb_name: z.string(),
    checkpoint_dir: z.string(),
    starting_step: wireInteger,
    checkpoint_interval: wireInteger,
    num_steps: wireInteger,
  }),
  z.object({ status: z.literal("wait for trainer to start") }),
])
export type RegisterEnvironmentResponse = z.infer<typeof registerEnvironmentResponse>

export const environmentIdRequest = z.object({ env_id: wireInteger.describe("As answered by /register-env") })

export const disconnectEnvironmentResponse = z.union([
  z.object({ status: z.literal("success") }),
  z.object({ status: z.literal("failure"), error: z.string() }),
])
export type DisconnectEnvironmentResponse = z.infer<typeof disconnectEnvironmentResponse>

/** A message of a conversation: at least a role and a content, any other keys are kept. */
const message = z.looseObject({ role: z.unknown(), content: z.unknown().optional() })

/** One prompt's scored sequences. Axes: sequence, position, and k for the distillation fields. */
export const scoredGroup = z.object({
  tokens: z.array(z.array(wireInteger)).describe("Token ids by sequence and position"),
  masks: z.array(z.array(wireInteger)).describe("-100 where not trained on, else the token id"),
  scores: z.array(z.number()).describe("One score per sequence"),
  advantages: z.array(z.array(z.number())).nullish().describe("Per-token advantages"),
  ref_logprobs: z.array(z.array(z.number())).nullish().describe("Logprobs of a reference model"),
  messages: z.array(z.array(message)).nullish().describe("The conversation of each sequence"),
  generation_params: z.record(z.string(), z.unknown()).nullish().describe("How the sequences were sampled"),
  inference_logprobs: z
    .array(z.array(z.number()))
    .nullish()
    .describe("Logprobs as sampled, aligned with tokens; 1.0 at masked positions"),
  overrides: z.array(z.record(z.string(), z.unknown())).nullish().describe("Settings per sequence"),
  group_overrides: z.record(z.string(), z.unknown()).nullish().describe("Settings of the group"),
  images: z.unknown().nullish().describe("Anything, usually one image per sequence"),
  env_id: wireInteger.nullish().describe("The environment this group counts for"),
  distill_token_ids: z
    .array(z.array(z.array(wireInteger)))
    .nullish()
    .describe("A teacher's top-k ids"),
  distill_logprobs: z
    .array(z.array(z.array(z.number())))
    .nullish()
    .describe("A teacher's top-k logprobs"),
})
export type ScoredGroup = z.infer<typeof scoredGroup>

/** A group as it leaves the server: all 14 keys are there, null where the producer sent none. */
export type BatchGroup = { [Key in keyof ScoredGroup]-?: Exclude<ScoredGroup[Key], undefined> }

export const pushResponse = z.object({
  status: z.enum(["received", "buffered"]),
  buffer_size: wireInteger.optional().describe("Sequences that wait in the environment's buffer"),
})
export type PushResponse = z.infer<typeof pushResponse>

export const pushListResponse = z.object({
  status: z.literal("received"),
  groups_processed: wireInteger,
  buffered: wireInteger.optional().describe("How many of the groups went to a buffer"),
  last_buffer_size: wireInteger.optional(),
})
export type PushListResponse = z.infer<typeof pushListResponse>

export const batchResponse = z.object({
  batch: z.array(scoredGroup).nullable().describe("null while no batch can be formed"),
  status: z.literal("error").optional(),
  message: z.string().optional(),
  batch_id: z.string().optional().describe("With ack=manual: what to acknowledge"),
})
export interface BatchResponse {
  batch: BatchGroup[] | null
  status?: "error"
  message?: string
  batch_id?: string
}

export const acknowledgeResponse = z.object({ status: z.literal("success"), batch_id: z.string() })
export type AcknowledgeResponse = z.infer<typeof acknowledgeResponse>

export const infoResponse = z.object({ batch_size: wireInteger, max_token_len: wireInteger })
export type InfoResponse = z.infer<typeof infoResponse>

export const wandbInfoResponse = z.object({ group: z.string().nullable(), project: z.string().nullable() })
export type WandbInfoResponse = z.infer<typeof wandbInfoResponse>

export const statusResponse = z.object({
  current_step: wireInteger,
  queue_size: wireInteger.describe("Groups in the queue"),
  reason: z.string().optional().describe("Why no batch can be formed now"),
  damaged_groups: wireInteger.optional().describe("Groups that could not be read and were set aside"),
})
export type StatusResponse = z.infer<typeof statusResponse>

export const environmentStatusResponse = z.object({
  current_step: wireInteger,
  queue_size: wireInteger.describe("What is queued, in groups of this environment's size"),
  unallocated_fraction: z.number(),
  self_queue_size: wireInteger.describe("What this environment has queued, in its groups"),
  max_group_size: wireInteger,
  env_weight: z.number(),
  registered: z.literal(false).optional().describe("The id is not known: register again"),
})
export type EnvironmentStatusResponse = z.infer<typeof environmentStatusResponse>

/** Metrics of an environment or a trainer, kept with the run. */
export const logEntry = z.object({
  source: z.string().describe("env:NAME, trainer, or any other name"),
  step: wireInteger.optional(),
  time: z.number().optional().describe("Seconds since 1970"),
  metrics: z.record(z.string(), z.number()),
  table: z
    .object({ name: z.string(), columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) })
    .optional()
    .describe("Examples to look at"),
})
export type LogEntry = z.infer<typeof logEntry>
