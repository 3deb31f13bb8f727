import cors from "@fastify/cors"
import Fastify, { type FastifyError, type FastifyInstance } from "fastify"

import { isAtroposError } from "../../runtime/errors.ts"
import type { LogBook } from "../log-book.ts"
import { type AccessOptions, addAccessControl } from "./access.ts"
import { sendFault } from "./answers.ts"
import type { ServerContext } from "./context.ts"
import { answerBrokenRequest } from "./broken-requests.ts"
import { addOpenApi } from "./openapi.ts"
import { addBatchRoutes } from "./routes/batch-routes.ts"
import { addEnvironmentRoutes } from "./routes/environment-routes.ts"
import { addLogRoutes } from "./routes/log-routes.ts"
import { addOperatorRoutes, operatorPaths } from "./routes/operator-routes.ts"
import { addPushRoutes } from "./routes/push-routes.ts"
import { addTrainerRoutes } from "./routes/trainer-routes.ts"

/** All calls of the server, apart from listening. */
export async function createApp(
  context: ServerContext,
  book: LogBook,
  access: AccessOptions,
): Promise<FastifyInstance> {
  const { limits, metrics } = context
  const app = Fastify({
    // A HEAD route would run the handler of its GET, and so take a batch.
    exposeHeadRoutes: false,
    forceCloseConnections: "idle",
    // `turnAwayWhileClosing` says it in the form of all other answers.
    return503OnClosing: false,
    routerOptions: { ignoreTrailingSlash: true },
    requestTimeout: (limits.headersTimeout + limits.maxHold + limits.bodyTimeout) * 1000,
    http: { headersTimeout: limits.headersTimeout * 1000, connectionsCheckingInterval: 1000 },
    clientErrorHandler: (error, socket) => metrics.refused(answerBrokenRequest(error, socket)),
    frameworkErrors: (error, request, reply) => {
      void sendFault(request, reply, error.statusCode ?? 400, error.message)
    },
  })
  // Bodies are read by the calls themselves, from the raw request: of GET too, whatever their Content-Type.
  for (const method of ["GET", "POST"]) app.addHttpMethod(method, { hasBody: false, overrideExisting: true })
  app.server.maxConnections = limits.maxConnections
  app.server.on("drop", () => metrics.connectionDropped())
  app.addHook("onResponse", async (request, reply) => {
    const route = request.routeOptions.url ?? "unknown"
    metrics.answered(request.method, route, reply.statusCode, reply.elapsedTime / 1000)
  })
  if (access.cors !== null) await app.register(cors, { origin: access.cors, methods: ["GET", "POST"] })
  addAccessControl(app, access, (reason) => metrics.refused(reason))
  turnAwayWhileClosing(app, context)
  answerUnknownCalls(app)
  answerFailures(app, context)
  addOpenApi(app)
  addTrainerRoutes(app, context, access)
  addBatchRoutes(app, context)
  addEnvironmentRoutes(app, context)
  addPushRoutes(app, context)
  addLogRoutes(app, context, book)
  addOperatorRoutes(app, context)
  return app
}

/** Calls under way may end; what comes behind them on their connections is for the next start. */
function turnAwayWhileClosing(app: FastifyInstance, { draining, metrics }: ServerContext): void {
  app.addHook("onRequest", async (request, reply) => {
    if (!draining() || operatorPaths.has(request.routeOptions.url ?? "")) return
    metrics.refused("closing")
    return sendFault(
      request,
      reply.header("retry-after", "1"),
      503,
      "The server is closing; call again when it is back",
    )
  })
}

function answerUnknownCalls(app: FastifyInstance): void {
  const known: RegExp[] = []
  app.addHook("onRoute", ({ url }) => {
    known.push(
      new RegExp(
        `^${url
          .replace(/\/$/, "")
          .replace(/:[^/]+/g, "[^/]+")
          .replaceAll("*", ".*")}/?$`,
      ),
    )
  })
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split("?")[0] ?? ""
    if (known.some((pattern) => pattern.test(path))) return sendFault(request, reply, 405, "Method Not Allowed")
    return sendFault(request, reply, 404, "Not Found")
  })
}

function answerFailures(app: FastifyInstance, { logger, metrics }: ServerContext): void {
  app.setErrorHandler((error: FastifyError, request, reply) => {
    if (isAtroposError(error)) {
      metrics.failed(error.code)
      logger.error("a call failed", { route: request.routeOptions.url, code: error.code, error: error.message })
      if (error.code === "store-full") return sendFault(request, reply, 507, error.message)
      return sendFault(request, reply.header("retry-after", "1"), 503, error.message)
    }
    const status = error.statusCode ?? 500
    if (status < 500) return sendFault(request, reply, status, error.message)
    logger.error("a call failed", { route: request.routeOptions.url, error: error.stack ?? String(error) })
    return sendFault(request, reply, 500, "Internal Server Error: the server's log says more")
  })
}
