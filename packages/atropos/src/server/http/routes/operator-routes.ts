import type { FastifyInstance } from "fastify"
import { z } from "zod"

import { sendJson } from "../answers.ts"
import type { ServerContext } from "../context.ts"
import { describeCall } from "../openapi.ts"

/** They answer until the end. */
export const operatorPaths: ReadonlySet<string> = new Set(["/health", "/ready", "/metrics"])

/** For whoever runs the server: is it there, does it take work, how is it. */
export function addOperatorRoutes(app: FastifyInstance, context: ServerContext): void {
  const state = z.object({ status: z.string() })

  app.get("/health", describeCall({ summary: "Whether the server is there", response: state }), (request, reply) =>
    sendJson(request, reply, '{"status":"ok"}'),
  )

  app.get("/ready", describeCall({ summary: "Whether the server takes work", response: state }), (request, reply) => {
    if (context.draining()) return sendJson(request, reply, '{"status":"draining"}', 503)
    const status = context.gate.isFull ? "full" : "ready"
    return sendJson(request, reply, `{"status":"${status}"}`, status === "ready" ? 200 : 503)
  })

  app.get("/metrics", describeCall({ summary: "Metrics for Prometheus" }), async (_request, reply) => {
    const { text, contentType } = await context.metrics.expose()
    return reply.header("content-type", contentType).send(text)
  })
}
