import swagger from "@fastify/swagger"
import swaggerUi from "@fastify/swagger-ui"
import Fastify, { type FastifyInstance } from "fastify"
import { z } from "zod"

import type { DescribedRoute } from "./openapi.ts"

/** An app of its own with the document and the page, so that the server itself does not pay for them. */
export async function createOpenApiPages(routes: readonly DescribedRoute[]): Promise<FastifyInstance> {
  const app = Fastify({ exposeHeadRoutes: false, routerOptions: { ignoreTrailingSlash: true } })
  await app.register(swagger, {
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
  for (const { method, url, description } of routes) {
    const { summary, query, body, response } = description
    const schema = {
      summary,
      ...(query === undefined ? {} : { querystring: toJsonSchema(query) }),
      ...(body === undefined ? {} : { body: toJsonSchema(body) }),
      ...(response === undefined ? {} : { response: { 200: { description: "Done", ...toJsonSchema(response) } } }),
    }
    app.route({ method, url, schema, handler: () => undefined })
  }
  await app.ready()
  return app
}

function toJsonSchema(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io: "input",
    override: ({ jsonSchema }) => dropDoubleBounds(jsonSchema),
  })
  return json
}

/** Our integers may be of any size: bounds that only say what a double holds are not meant. */
function dropDoubleBounds(schema: { minimum?: unknown; maximum?: unknown }): void {
  if (schema.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum
  if (schema.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum
}
