import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import type { FastifyContextConfig, FastifyInstance, FastifySchema } from "fastify"
import { z } from "zod"

export interface CallDescription {
  summary: string
  query?: z.ZodObject
  body?: z.ZodType
  response?: z.ZodType
}

/** A route's options with its description. Requests are not checked with it: the wire contract is more lenient. */
export function describeCall({ summary, query, body, response }: CallDescription): {
  schema: FastifySchema
  config: FastifyContextConfig & { openApiBody?: Record<string, unknown> }
} {
  return {
    schema: {
      summary,
      ...(query === undefined ? {} : { querystring: toJsonSchema(query) }),
      ...(response === undefined ? {} : { response: { 200: { description: "Done", ...toJsonSchema(response) } } }),
    },
    // Fastify takes no body schema for calls whose bodies it does not read.
    config: body === undefined ? {} : { openApiBody: toJsonSchema(body) },
  }
}

/** Adds `/openapi.json` and a page that shows it at `/docs`. Call it before the routes are added. */
export async function addOpenApi(app: FastifyInstance): Promise<void> {
  await app.register(swagger, {
    transform: ({ schema, url, route }) => {
      const { openApiBody } = (route.config ?? {}) as { openApiBody?: Record<string, unknown> }
      return { url, schema: openApiBody === undefined ? schema : { ...schema, body: openApiBody } }
    },
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Atropos trajectory server",
        description: "Environments push scored groups of token sequences; trainers pull batches of an exact size.",
        version: "1",
      },
    },
  })
  await app.register(swaggerUi, { routePrefix: "/docs" })
  app.get("/openapi.json", { schema: { hide: true } }, async (_request, reply) => {
    return reply.header("content-type", "application/json").send(JSON.stringify(app.swagger()))
  })
}

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: "input" })
  return json
}
