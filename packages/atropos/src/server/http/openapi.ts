import type {} from "@fastify/swagger"
import type { FastifyContextConfig, FastifyInstance } from "fastify"
import type { z } from "zod"

import { sendJson } from "./answers.ts"

/** What OpenAPI says of a call. Requests are not checked with it: the wire contract's own rules are more lenient. */
export interface CallDescription {
  summary: string
  query?: z.ZodObject
  body?: z.ZodType
  response?: z.ZodType
}

export interface DescribedRoute {
  readonly method: string
  readonly url: string
  readonly description: CallDescription
}

/** A route's options with its description. */
export function describeCall(description: CallDescription): {
  config: FastifyContextConfig & { description: CallDescription }
} {
  return { config: { description } }
}

/**
 * Adds `/openapi.json` and a page that shows it at `/docs`, for all routes that are added afterwards. What makes them
 * is loaded when somebody asks: a restarting server has no time for it.
 */
export function addOpenApi(app: FastifyInstance): void {
  const routes: DescribedRoute[] = []
  app.addHook("onRoute", ({ method, url, config }) => {
    const { description } = (config ?? {}) as { description?: CallDescription }
    if (description === undefined) return
    if (typeof method === "string") routes.push({ method, url, description })
  })
  let pages: Promise<FastifyInstance> | null = null
  app.addHook("onClose", async () => (await pages)?.close())
  const load = (): Promise<FastifyInstance> => {
    pages ??= import("./openapi-pages.ts").then(({ createOpenApiPages }) => createOpenApiPages(routes))
    return pages
  }
  app.get("/openapi.json", async (request, reply) => sendJson(request, reply, JSON.stringify((await load()).swagger())))
  for (const url of ["/docs", "/docs/*"]) {
    app.get(url, async (request, reply) => {
      const page = await load()
      reply.hijack()
      page.routing(request.raw, reply.raw)
    })
  }
}
