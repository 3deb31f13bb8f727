import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify"
import { z } from "zod"

import { pushListResponse, pushResponse, scoredGroup } from "../../../protocol/messages.ts"
import { collectBody } from "../../bytes/collect-body.ts"
import type { Refusal } from "../../bytes/prepared-group.ts"
import type { GateVisit } from "../../live/queue-gate.ts"
import type { PushOutcome } from "../../run/recent-pushes.ts"
import { sendFault, sendJson, sendRefusal } from "../answers.ts"
import { goneSignal, isConnected } from "../client-gone.ts"
import type { ServerContext } from "../context.ts"
import { readBodyKind } from "../control-body.ts"
import { describeCall } from "../openapi.ts"

const calls = [
  { path: "/scored_data", kind: "one", summary: "Push a scored group", body: scoredGroup, response: pushResponse },
  {
    path: "/scored_data_list",
    kind: "list",
    summary: "Push several scored groups, all or none",
    body: z.array(scoredGroup),
    response: pushListResponse,
  },
] as const

/** What a body whose length nobody tells is counted as while it is read. */
const unknownLength = 64 * 1024
const maxKeyLength = 255

export function addPushRoutes(app: FastifyInstance, context: ServerContext): void {
  for (const { path, kind, summary, body, response } of calls) {
    app.post(path, describeCall({ summary, body, response }), async (request, reply) => {
      const declared = Number(request.headers["content-length"] ?? unknownLength)
      const bytes = Math.min(declared, context.limits.maxBody)
      const visit = await context.gate.enter(bytes, goneSignal(reply))
      if (visit === null) return sendFull(request, reply)
      try {
        return await takePush(kind, visit, request, reply)
      } finally {
        visit.leave()
      }
    })
  }

  async function takePush(
    kind: "one" | "list",
    visit: GateVisit,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { memory, limits, metrics, pushes } = context
    const bodyKind = readBodyKind(request)
    if ("status" in bodyKind) return refuse(bodyKind)
    const key = readKey(request)
    if (typeof key === "object" && key !== null) return refuse(key)
    const collected = await collectBody(memory, request.raw, {
      bodyBytes: limits.maxBody,
      timeoutMs: limits.bodyTimeout * 1000,
    })
    if (collected.outcome === "aborted") return reply.hijack()
    if (collected.outcome === "refused") return refuse(collected.refusal)
    const result = await pushes.push({
      ...bodyKind,
      kind,
      key,
      body: collected.body,
      recycle: (buffer) => memory.give(buffer),
      isConnected: () => isConnected(reply),
      admit: (groups) => visit.admit(groups),
    })
    if (result.kind === "gone") return reply.hijack()
    if (result.kind === "full") return sendFull(request, reply)
    if (result.kind === "refused") return refuse(result.refusal)
    if (result.kept === null) metrics.repeated()
    else metrics.kept(result.kept)
    reply.raw.once("close", () => (reply.raw.writableFinished ? result.answered() : result.lost()))
    return sendJson(request, reply, kind === "one" ? describeOne(result.outcome) : describeList(result.outcome))

    function refuse(refusal: Refusal): FastifyReply {
      metrics.refused(refusal.reason)
      return sendRefusal(request, reply, refusal)
    }
  }

  function sendFull(request: FastifyRequest, reply: FastifyReply): FastifyReply {
    if (!isConnected(reply)) return reply.hijack()
    context.metrics.refused("queue_full")
    const obstacle = context.live.run.registration === null ? null : context.batches.explainNull()
    const because = obstacle === null ? "" : ` No batch can be formed of it: ${obstacle}.`
    const detail = `The queue is full: nothing came free within ${context.limits.maxHold} s; push again later, start the trainer, or raise --max-queue.${because}`
    return sendFault(request, reply.header("retry-after", "5"), 503, detail)
  }
}

function describeOne({ buffered, bufferSize }: PushOutcome): string {
  return buffered === 0 ? '{"status":"received"}' : `{"status":"buffered","buffer_size":${bufferSize}}`
}

function describeList({ groups, buffered, bufferSize }: PushOutcome): string {
  const counts = buffered === 0 ? "" : `,"buffered":${buffered},"last_buffer_size":${bufferSize}`
  return `{"status":"received","groups_processed":${groups}${counts}}`
}

function readKey(request: FastifyRequest): string | null | Refusal {
  const key = request.headers["idempotency-key"]
  if (key === undefined) return null
  if (typeof key === "string" && key.length > 0 && key.length <= maxKeyLength) return key
  const msg = `Idempotency-Key should have 1 to ${maxKeyLength} characters; use a UUID for each push`
  const detail = [{ type: "value_error", loc: ["header", "idempotency-key"], msg, input: null }]
  return { status: 422, contentType: "application/json", body: JSON.stringify({ detail }), reason: "idempotency_key" }
}
