import type { FastifyInstance } from "fastify"
import { z } from "zod"

import { logEntry } from "../../../protocol/messages.ts"
import type { Problem } from "../../bytes/json/problems.ts"
import { refuseProblems } from "../../bytes/json/problems.ts"
import type { LogBook } from "../../log-book.ts"
import { sendFault, sendJson, sendRefusal } from "../answers.ts"
import type { ServerContext } from "../context.ts"
import { readControlBody } from "../control-body.ts"
import { describeCall } from "../openapi.ts"

const maxSourceLength = 120
const oneEntry = logEntry.extend({ source: logEntry.shape.source.min(1).max(maxSourceLength) })
const entries = z.array(oneEntry)

export function addLogRoutes(app: FastifyInstance, context: ServerContext, book: LogBook): void {
  const body = z.union([oneEntry, entries])
  const response = z.object({ status: z.literal("received") })
  app.post("/log", describeCall({ summary: "Log metrics", body, response }), async (request, reply) => {
    const bytes = await readControlBody(context, request, reply)
    if (bytes === null) return reply
    const value = parse(Buffer.from(bytes).toString())
    const isList = Array.isArray(value)
    const checked = entries.safeParse(isList ? value : [value])
    if (!checked.success) {
      const problems = checked.error.issues.map((issue): Problem => {
        const path = issue.path.filter((part) => typeof part !== "symbol")
        const loc = ["body", ...(isList ? path : path.slice(1))]
        const isFinite = issue.code !== "invalid_type" || issue.expected !== "number"
        return { type: isFinite ? "value_error" : "finite_number", loc, msg: issue.message, input: "null" }
      })
      context.metrics.refused("log_entry")
      return sendRefusal(request, reply, refuseProblems(problems))
    }
    const now = context.live.now / 1000
    switch (await book.add(checked.data.map((entry) => ({ time: now, ...entry })))) {
      case "kept":
        return sendJson(request, reply, '{"status":"received"}')
      case "too-many-sources": {
        context.metrics.refused("log_full")
        const detail = `Metrics come from ${context.limits.maxSources} sources already; log under one of their names or raise --max-sources`
        return sendFault(request, reply, 503, detail)
      }
      case "full": {
        context.metrics.refused("log_full")
        const detail = `${context.limits.maxJournal} bytes of metrics are kept, as many as may be; raise --max-journal or begin a new run folder`
        return sendFault(request, reply, 507, detail)
      }
    }
  })
}

/** NaN and the infinities are well-formed to Python: they come out as null, which no metric may be. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
