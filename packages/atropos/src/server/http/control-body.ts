import type { FastifyReply, FastifyRequest } from "fastify"
import type { z } from "zod"

import { collectBody } from "../bytes/collect-body.ts"
import { refuseProblems } from "../bytes/json/problems.ts"
import { readJsonBody } from "../bytes/json/read-body.ts"
import type { Refusal } from "../bytes/prepared-group.ts"
import { sendRefusal } from "./answers.ts"
import { checkBody, type WireValues } from "./check-body.ts"
import type { ServerContext } from "./context.ts"

/** Bodies of these calls are a few fields: what inflates to more than this is a bomb, and it inflates on this thread. */
const maxInflatedControlBytes = 16e6

export interface BodyKind {
  readonly gzip: boolean
  readonly json: boolean
}

/** What the headers say of the body, or why it can not be read. */
export function readBodyKind(request: FastifyRequest): BodyKind | Refusal {
  const encoding = request.headers["content-encoding"]?.trim().toLowerCase() ?? "identity"
  const mediaType = request.headers["content-type"]?.split(";")[0]?.trim() ?? ""
  if (encoding === "gzip" || encoding === "x-gzip" || encoding === "identity" || encoding === "") {
    return { gzip: encoding.endsWith("gzip"), json: /^application\/(?:[\w!#$&^.+-]+\+)?json$/i.test(mediaType) }
  }
  const detail = `Content-Encoding ${encoding} is not understood; send gzip, or no encoding`
  return { status: 415, contentType: "application/json", body: JSON.stringify({ detail }), reason: "content_encoding" }
}

/** The body of a call that is no push, as well-formed JSON. Null when it was refused and answered, or nobody is there. */
export async function readControlBody(
  context: ServerContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Uint8Array | null> {
  const { limits, memory } = context
  const kind = readBodyKind(request)
  if ("status" in kind) return refuse(kind)
  const collected = await collectBody(memory, request.raw, {
    bodyBytes: limits.maxBody,
    timeoutMs: limits.bodyTimeout * 1000,
  })
  if (collected.outcome === "aborted") {
    reply.hijack()
    return null
  }
  if (collected.outcome === "refused") return refuse(collected.refusal)
  const text = readJsonBody(
    { ...kind, body: collected.body },
    { inflatedBytes: Math.min(limits.maxInflated, maxInflatedControlBytes), nesting: limits.maxNesting },
  )
  if (!text.ok) {
    memory.give(collected.body.buffer)
    return refuse(text.refusal)
  }
  const bytes = new Uint8Array(text.bytes)
  memory.give(collected.body.buffer)
  return bytes

  function refuse(refusal: Refusal): null {
    context.metrics.refused(refusal.reason)
    void sendRefusal(request, reply, refusal)
    return null
  }
}

/** The fields of a call's body. Null when it was refused and answered. */
export async function readFields<Schema extends z.ZodObject>(
  context: ServerContext,
  schema: Schema,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<WireValues<Schema> | null> {
  const bytes = await readControlBody(context, request, reply)
  if (bytes === null) return null
  const checked = checkBody(schema, bytes)
  if (checked.ok) return checked.values
  const refusal = refuseProblems(checked.problems)
  context.metrics.refused(refusal.reason)
  void sendRefusal(request, reply, refusal)
  return null
}
