import { randomBytes } from "node:crypto"

import type { FastifyInstance } from "fastify"
import { z } from "zod"

import {
  infoResponse,
  registerRequest,
  registerResponse,
  scoredGroup,
  statusResponse,
  wandbInfoResponse,
} from "../../../protocol/messages.ts"
import { bareFrame } from "../../bytes/stitch/stitch.ts"
import { mayReset } from "../access.ts"
import { sendFault, sendJson } from "../answers.ts"
import type { ServerContext } from "../context.ts"
import { readFields } from "../control-body.ts"
import { describeCall } from "../openapi.ts"
import { sendGroups } from "../send-groups.ts"

export function addTrainerRoutes(
  app: FastifyInstance,
  context: ServerContext,
  access: { insecure: boolean; token: string | null },
): void {
  const { batches, live, limits, logger } = context

  const greeting = z.object({ message: z.string() })
  app.get("/", describeCall({ summary: "Greet", response: greeting }), (request, reply) =>
    sendJson(request, reply, '{"message":"AtroposLib API"}'),
  )

  app.post(
    "/register",
    describeCall({ summary: "Register a trainer", body: registerRequest, response: registerResponse }),
    async (request, reply) => {
      const fields = await readFields(context, registerRequest, request, reply)
      if (fields === null) return reply
      const outcome = await batches.register({
        wandbGroup: fields.wandb_group,
        wandbProject: fields.wandb_project,
        batchSize: fields.batch_size,
        maxTokenLength: fields.max_token_len,
        checkpointDir: fields.checkpoint_dir,
        saveCheckpointInterval: fields.save_checkpoint_interval,
        startingStep: fields.starting_step,
        numSteps: fields.num_steps,
      })
      if (outcome === "updated") {
        logger.warn("a trainer registered with other values: they apply from now on", {
          batch_size: fields.batch_size,
          starting_step: fields.starting_step,
        })
      }
      const updated = outcome === "updated" ? ',"status":"updated"' : ""
      return sendJson(request, reply, `{"uuid":${newUuid()}${updated}}`)
    },
  )

  app.get(
    "/wandb_info",
    describeCall({ summary: "Where the run is tracked", response: wandbInfoResponse }),
    (request, reply) => {
      const { registration } = live.run
      const group = registration?.wandbGroup ?? null
      return sendJson(request, reply, JSON.stringify({ group, project: registration?.wandbProject ?? null }))
    },
  )

  app.get(
    "/info",
    describeCall({ summary: "Sizes that the trainer registered; -1 before", response: infoResponse }),
    (request, reply) => {
      const { batchSize, maxTokenLength } = live.run.registration ?? { batchSize: "-1", maxTokenLength: "-1" }
      return sendJson(request, reply, `{"batch_size":${batchSize},"max_token_len":${maxTokenLength}}`)
    },
  )

  app.get(
    "/status",
    describeCall({ summary: "Step, queue, and why there is no batch", response: statusResponse }),
    async (request, reply) => {
      await batches.check()
      const { run } = live
      const reason = batches.explainNull()
      const because = reason === null ? "" : `,"reason":${JSON.stringify(reason)}`
      const [step, size] = run.registration === null ? [0n, 0] : [run.step, run.queue.groups]
      const damaged = run.damaged.length === 0 ? "" : `,"damaged_groups":${run.damaged.length}`
      return sendJson(request, reply, `{"current_step":${step},"queue_size":${size}${because}${damaged}}`)
    },
  )

  app.get(
    "/latest_example",
    describeCall({ summary: "The newest queued group", response: scoredGroup }),
    async (request, reply) => {
      const { latest } = live.run
      if (latest === null) return sendJson(request, reply, noExample)
      const { store } = live
      await sendGroups(request, reply, { ids: [latest], frame: bareFrame, store, stallMs: limits.stallTimeout * 1000 })
      return reply
    },
  )

  app.get("/reset_data", describeCall({ summary: "Begin a new run: clears everything" }), async (request, reply) => {
    if (!mayReset(request, access)) {
      return sendFault(
        request,
        reply,
        403,
        "/reset_data is taken from this machine only; start the server with --token, or with --insecure, to reset it from another",
      )
    }
    await batches.reset()
    logger.warn("the run was reset", { from: request.ip })
    return reply.header("content-type", "text/plain; charset=utf-8").send("Reset successful")
  })
}

/** A UUID4 as the integer that its 128 bits spell. */
function newUuid(): bigint {
  const bytes = randomBytes(16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return BigInt(`0x${bytes.toString("hex")}`)
}

const noExample = JSON.stringify({
  tokens: [],
  masks: [],
  scores: [],
  advantages: [],
  ref_logprobs: [],
  generation_params: [],
  inference_logprobs: [],
  messages: [],
  images: [],
})
