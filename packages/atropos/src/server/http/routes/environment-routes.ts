import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { z } from "zod"

import {
  disconnectEnvironmentResponse,
  environmentIdRequest,
  environmentStatusResponse,
  registerEnvironmentRequest,
  registerEnvironmentResponse,
} from "../../../protocol/messages.ts"
import { formatFloat } from "../../bytes/json/coerce.ts"
import { refuseProblems } from "../../bytes/json/problems.ts"
import { sendFault, sendJson, sendRefusal } from "../answers.ts"
import { checkParameter, readParameter } from "../check-body.ts"
import type { ServerContext } from "../context.ts"
import { readFields } from "../control-body.ts"
import { describeCall } from "../openapi.ts"

export function addEnvironmentRoutes(app: FastifyInstance, context: ServerContext): void {
  const { live, limits, presence, logger } = context

  app.post(
    "/register-env",
    describeCall({
      summary: "Register an environment",
      body: registerEnvironmentRequest,
      response: registerEnvironmentResponse,
    }),
    async (request, reply) => {
      const fields = await readFields(context, registerEnvironmentRequest, request, reply)
      if (fields === null) return reply
      if (!live.run.started) return sendJson(request, reply, waitForTrainer)
      if (live.run.environments.all.length >= limits.maxEnvs) {
        context.metrics.refused("too_many_environments")
        const detail = `This run has ${limits.maxEnvs} environments, as many as it may have; raise --max-envs or begin a new run`
        return sendFault(request, reply, 503, detail)
      }
      const environment = await live.submit({
        type: "register-environment",
        time: live.now,
        registration: {
          desiredName: fields.desired_name,
          maxTokenLength: fields.max_token_length,
          weight: fields.weight,
          groupSize: fields.group_size,
          minBatchAllocation: fields.min_batch_allocation,
        },
      })
      const { registration, step } = live.run
      if (environment === null || registration === null) return sendJson(request, reply, waitForTrainer)
      logger.info("an environment registered", { env_id: environment.id, name: environment.wandbName })
      const answer = [
        `"status":"success"`,
        `"env_id":${environment.id}`,
        `"wandb_name":${JSON.stringify(environment.wandbName)}`,
        `"checkpoint_dir":${JSON.stringify(registration.checkpointDir)}`,
        `"starting_step":${step}`,
        `"checkpoint_interval":${registration.saveCheckpointInterval}`,
        `"num_steps":${registration.numSteps}`,
      ]
      return sendJson(request, reply, `{${answer.join(",")}}`)
    },
  )

  app.post(
    "/disconnect-env",
    describeCall({
      summary: "Say that an environment leaves",
      body: environmentIdRequest,
      response: disconnectEnvironmentResponse,
    }),
    async (request, reply) => {
      const fields = await readFields(context, environmentIdRequest, request, reply)
      if (fields === null) return reply
      const id = readId(fields.env_id)
      if (id === null || !(await live.submit({ type: "disconnect-environment", environment: id }))) {
        const error = `no environment of this run has the id ${fields.env_id.slice(0, 40)}; it is the env_id that /register-env answered`
        return sendJson(request, reply, JSON.stringify({ status: "failure", error }))
      }
      return sendJson(request, reply, '{"status":"success"}')
    },
  )

  const byQuery = z.object({ env_id: environmentIdRequest.shape.env_id.optional() })
  const summary = "The queue as an environment has to see it"
  app.get("/status-env", describeCall({ summary, query: byQuery, response: environmentStatusResponse }), answerStatus)
  app.post(
    "/status-env",
    describeCall({
      summary,
      query: byQuery,
      body: environmentIdRequest,
      response: environmentStatusResponse,
    }),
    answerStatus,
  )

  async function answerStatus(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const digits = await readEnvironmentId(request, reply)
    if (digits === null) return reply
    const environment = presence.see(readId(digits))
    presence.check()
    const { run } = live
    const status = run.environments.statusOf(run.registration === null ? undefined : environment)
    const answer = [
      `"current_step":${run.registration === null ? 0 : run.step}`,
      `"queue_size":${status.queueSize}`,
      `"unallocated_fraction":${formatFloat(status.unallocatedFraction)}`,
      `"self_queue_size":${status.selfQueueSize}`,
      `"max_group_size":${status.maxGroupSize}`,
      `"env_weight":${formatFloat(status.weight)}`,
      ...(status.registered ? [] : [`"registered":false`]),
    ]
    return sendJson(request, reply, `{${answer.join(",")}}`)
  }

  async function readEnvironmentId(request: FastifyRequest, reply: FastifyReply): Promise<string | null> {
    const given = readParameter(request, "env_id")
    if (given === undefined) return (await readFields(context, environmentIdRequest, request, reply))?.env_id ?? null
    const id = checkParameter(environmentIdRequest.shape.env_id, "env_id", given)
    if (id.ok) return id.value
    void sendRefusal(request, reply, refuseProblems(id.problems))
    return null
  }
}

const waitForTrainer = '{"status":"wait for trainer to start"}'

/** An id that an environment can have, or null. */
function readId(digits: string): number | null {
  const id = Number(digits)
  return Number.isSafeInteger(id) && id >= 0 ? id : null
}
