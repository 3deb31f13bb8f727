import { gzipSync } from "node:zlib"

import type { FastifyReply, FastifyRequest } from "fastify"

import type { Refusal } from "../bytes/prepared-group.ts"

/** Answers from this size on are compressed for clients that take it. */
export const leastCompressedBytes = 1000

export function acceptsGzip(request: FastifyRequest): boolean {
  const header = request.headers["accept-encoding"]
  if (header === undefined) return false
  return header.split(",").some((part) => {
    const [name, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    return name === "gzip" && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter.replaceAll(" ", "")))
  })
}

/** Sends JSON text, compressed if that is worth it. */
export function sendJson(request: FastifyRequest, reply: FastifyReply, text: string, status = 200): FastifyReply {
  return sendText(request, reply, { status, contentType: "application/json", text })
}

export function sendRefusal(request: FastifyRequest, reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { status, contentType, body } = refusal
  return sendText(request, reply, { status, contentType, text: body })
}

/** A fault in words, in the form that FastAPI's clients know. */
export function sendFault(
  request: FastifyRequest,
  reply: FastifyReply,
  status: number,
  detail: string,
  others: Readonly<Record<string, unknown>> = {},
): FastifyReply {
  return sendJson(request, reply, JSON.stringify({ detail, ...others }), status)
}

function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  { status, contentType, text }: { status: number; contentType: string; text: string },
): FastifyReply {
  const body = Buffer.from(text)
  void reply.code(status).header("content-type", contentType)
  if (body.length < leastCompressedBytes) return reply.send(body)
  varyByEncoding(reply)
  if (!acceptsGzip(request)) return reply.send(body)
  return reply.header("content-encoding", "gzip").send(gzipSync(body, { level: 1 }))
}

/** Says to caches that the answer depends on what the client accepts, beside what was said before. */
export function varyByEncoding(reply: FastifyReply): void {
  const before = reply.getHeader("vary")
  void reply.header("vary", before === undefined ? "accept-encoding" : `${String(before)}, accept-encoding`)
}
