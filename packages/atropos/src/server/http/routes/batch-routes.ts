import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { z } from "zod"

import { refuseProblems } from "../../bytes/json/problems.ts"
import { batchFrame } from "../../bytes/stitch/stitch.ts"
import { isAtroposError } from "../../../runtime/errors.ts"
import { acknowledgeResponse, batchResponse } from "../../../protocol/messages.ts"
import type { Handout } from "../../live/batch-desk.ts"
import { damagedGroupOf } from "../../stores/store-errors.ts"
import { sendFault, sendJson, sendRefusal } from "../answers.ts"
import { checkParameter, readParameter } from "../check-body.ts"
import { goneSignal } from "../client-gone.ts"
import type { ServerContext } from "../context.ts"
import { describeCall } from "../openapi.ts"
import { sendGroups } from "../send-groups.ts"

const waitSeconds = z.number().min(0)

export function addBatchRoutes(app: FastifyInstance, context: ServerContext): void {
  const { batches, limits, live, metrics, logger } = context

  app.get(
    "/batch",
    describeCall({
      summary: "The next batch, or null while none can be formed",
      query: z.object({
        wait: waitSeconds.optional().describe("Seconds to wait for a batch"),
        ack: z.literal("manual").optional().describe("The batch comes back unless it is acknowledged"),
      }),
      response: batchResponse,
    }),
    async (request, reply) => {
      const options = readOptions(request)
      if ("status" in options) return sendRefusal(request, reply, options)
      const signal = goneSignal(reply)
      for (;;) {
        const handout = await pollOrExplain({ ...options, signal })
        if (handout === "not-registered") return sendJson(request, reply, notRegistered)
        if (handout === null) return sendJson(request, reply, '{"batch":null}')
        if (await handOut(request, reply, handout, options.manual)) return reply
      }
    },
  )

  app.post<{ Params: { id: string } }>(
    "/batch/:id/ack",
    describeCall({
      summary: "Acknowledge a batch that was taken with ack=manual",
      response: acknowledgeResponse,
    }),
    async (request, reply) => {
      const { id } = request.params
      const state = await batches.acknowledge(id)
      if (state === "settled") return sendJson(request, reply, JSON.stringify({ status: "success", batch_id: id }))
      if (state === "returned") {
        const detail = `Batch ${id} was not acknowledged in time, or before a registration with other values: its groups are in the queue again, and training on it counts them twice; acknowledge sooner or raise --ack-timeout`
        return sendFault(request, reply, 409, detail)
      }
      if (state === "handed-out-again") {
        const detail = `Batch ${id} was handed out again under another batch_id, since its answer seemed lost: only the newest can be acknowledged, and training on this one too counts its groups twice; drop it and take the next batch`
        return sendFault(request, reply, 409, detail)
      }
      return sendFault(
        request,
        reply,
        404,
        `There is no batch ${id.slice(0, 40)} in this run; take batch_id from GET /batch?ack=manual`,
      )
    },
  )

  /** While the store takes nothing a trainer simply has to wait: to stop it would help nobody. */
  async function pollOrExplain(options: Parameters<typeof batches.poll>[0]): ReturnType<typeof batches.poll> {
    try {
      return await batches.poll(options)
    } catch (error) {
      if (!isAtroposError(error, "store-full")) throw error
      logger.error("no batch can be handed out: the disk is full", { error: error.message })
      return null
    }
  }

  /** Resolves to whether the call is done; else its batch lost a group, and there is time for another one. */
  async function handOut(
    request: FastifyRequest,
    reply: FastifyReply,
    handout: Handout,
    manual: boolean,
  ): Promise<boolean> {
    const { batch } = handout
    const { table } = live.run
    const ids = batch.slots.map((slot) => table.idOf(slot))
    const staleness = batch.slots.map((slot) => Math.max(0, Number(live.run.step) - (table.steps[slot] ?? 0)))
    try {
      const whole = await sendGroups(request, reply, {
        ids,
        segmentBytes: batch.slots.map((slot) => table.bytes[slot] ?? 0),
        frame: manual ? { ...batchFrame, before: `{"batch_id":"${handout.id}","batch":[` } : batchFrame,
        store: live.store,
        stallMs: limits.stallTimeout * 1000,
        signal: handout.signal,
      })
      if (!whole) {
        handout.failed()
        metrics.cut()
        return true
      }
      handout.delivered()
      metrics.delivered(batch.sequences, staleness)
      return true
    } catch (error) {
      const isSetAside = await setAsideDamaged(handout, error)
      if (!isSetAside) handout.failed()
      if (!reply.sent) {
        if (isSetAside) return false
        throw error
      }
      logger.error("the answer with a batch was cut: a group could not be read", {
        batch: batch.id,
        error: String(error),
      })
      return true
    }
  }

  /** One group that can not be read must not keep those behind it from the trainer. */
  async function setAsideDamaged(handout: Handout, error: unknown): Promise<boolean> {
    const group = damagedGroupOf(error)
    if (group === null) return false
    const isSetAside = await batches.setAside(handout, group).catch(() => false)
    if (isSetAside) {
      const advice =
        "a group can not be read and was set aside; the others are served. Its row stays in the run's file: copy the run, try to recover it, and look at the disk"
      logger.error(advice, { group, error: String(error) })
    }
    return isSetAside
  }

  function readOptions(
    request: FastifyRequest,
  ): { manual: boolean; waitMs: number } | ReturnType<typeof refuseProblems> {
    const wait = readParameter(request, "wait")
    const ack = readParameter(request, "ack")
    if (ack !== undefined && ack !== "manual") {
      const msg = "Input should be 'manual'; leave ack out for batches that need no acknowledgement"
      return refuseProblems([{ type: "value_error", loc: ["query", "ack"], msg, input: JSON.stringify(ack) }])
    }
    if (wait === undefined) return { manual: ack === "manual", waitMs: 0 }
    const seconds = checkParameter(waitSeconds, "wait", wait)
    if (!seconds.ok) return refuseProblems(seconds.problems)
    return { manual: ack === "manual", waitMs: Math.min(seconds.value, limits.maxWait) * 1000 }
  }
}

const notRegistered = JSON.stringify({
  status: "error",
  message: "Trainer not registered. Call /register first.",
  batch: [],
})
