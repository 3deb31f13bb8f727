// The embedded policy over HTTP: what stock vLLM answers on the routes that environments use, and `/weights`
// for the trainer.
import { randomBytes } from "node:crypto"

import { isAtroposError, type Logger, silentLogger, type Tokenizer } from "atropos-rl"
import Fastify, { type FastifyInstance } from "fastify"
import { z } from "zod"

import type { Policy } from "../policy.ts"
import { decodeWeights, encodeWeights } from "../safetensors.ts"
import { ApiError } from "./api-error.ts"
import { complete, toEvents } from "./complete.ts"
import { parseCompletionRequest } from "./completion-request.ts"

export interface PolicyServerOptions {
  policy: Policy
  tokenizer: Tokenizer
  /** Name under which it answers. @default "policy" */
  modelName?: string
  logger?: Logger
  newId?: () => string
  /** Milliseconds since 1970. */
  now?: () => number
}

const weightsType = "application/octet-stream"
const maxWeightBytes = 1024 ** 3

/** Not yet listening: call `listen`, or `inject` in tests. */
export function createPolicyServer(options: PolicyServerOptions): FastifyInstance {
  const { policy, tokenizer, modelName = "policy", logger = silentLogger } = options
  const newId = options.newId ?? (() => randomBytes(8).toString("hex"))
  const now = options.now ?? Date.now
  const created = Math.floor(now() / 1000)
  const server = Fastify({ bodyLimit: 32 * 1024 ** 2, forceCloseConnections: true, exposeHeadRoutes: false })

  server.removeContentTypeParser("text/plain")
  server.addContentTypeParser(weightsType, { parseAs: "buffer", bodyLimit: maxWeightBytes }, (_request, body, done) =>
    done(null, body),
  )
  server.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    const refusal = toApiError(error)
    if (refusal !== undefined) return reply.code(refusal.status).send(refusal.body)
    logger.error("a request failed", { error: error.message })
    const body = { error: { message: error.message, type: "InternalServerError", param: null, code: 500 } }
    return reply.code(500).send(body)
  })
  server.setNotFoundHandler((request, reply) => {
    const known = ["GET", "POST", "PUT"].some((method) => server.hasRoute({ method, url: request.url }))
    return reply.code(known ? 405 : 404).send({ detail: known ? "Method Not Allowed" : "Not Found" })
  })

  server.get("/health", (_request, reply) => reply.code(200).send())
  server.get("/ping", (_request, reply) => reply.code(200).send())
  server.get("/version", () => ({ version: "0.33.0+atropos" }))
  server.get("/load", () => ({ server_load: policy.load.running + policy.load.waiting }))
  server.get("/v1/models", () => ({
    object: "list",
    data: [
      {
        id: modelName,
        object: "model",
        created,
        owned_by: "vllm",
        root: tokenizer.name,
        parent: null,
        max_model_len: policy.config.contextLength,
        permission: [],
      },
    ],
  }))
  server.post("/v1/completions", async (request, reply) => {
    const body = parseCompletionRequest(request.body, modelName)
    const gone = new AbortController()
    reply.raw.on("close", () => {
      if (!reply.raw.writableFinished) gone.abort()
    })
    const answer = await complete(body, { policy, tokenizer, modelName, signal: gone.signal, newId, now })
    if (body.stream !== true) return answer
    return reply.type("text/event-stream").send(toEvents(answer, body.stream_options?.include_usage === true))
  })
  server.post("/tokenize", (request) => {
    const { prompt, return_token_strs: withTexts } = tokenizeSchema.parse(request.body)
    const tokens = tokenizer.encode(prompt)
    return {
      count: tokens.length,
      max_model_len: policy.config.contextLength,
      tokens,
      token_strs: withTexts === true ? tokens.map((id) => tokenizer.idToToken(id)) : null,
    }
  })
  server.post("/detokenize", (request) => ({
    prompt: tokenizer.decode(detokenizeSchema.parse(request.body).tokens),
  }))

  server.get("/weight_info", () => ({ weight_version: String(policy.version) }))
  server.get("/weights", (_request, reply) =>
    reply.type(weightsType).send(Buffer.from(encodeWeights({ weights: policy.weights, version: policy.version }))),
  )
  server.put("/weights", async (request) => {
    if (!(request.body instanceof Uint8Array)) {
      throw new ApiError(400, `send the weights as ${weightsType}, in the safetensors format`)
    }
    const { weights, version } = decodeWeights(request.body, policy.config)
    await policy.setWeights(weights, version)
    return { version }
  })
  return server
}

const tokenizeSchema = z.looseObject({ prompt: z.string(), return_token_strs: z.boolean().nullish() })
const detokenizeSchema = z.looseObject({ tokens: z.array(z.int()) })

function toApiError(error: Error & { statusCode?: number; code?: string }): ApiError | undefined {
  if (error instanceof ApiError) return error
  if (error instanceof z.ZodError) {
    const issue = error.issues[0]
    const place = ["body", ...(issue?.path ?? [])].join(".")
    return new ApiError(400, `1 validation error:\n  ${place}: ${issue?.message ?? "not valid"}`, place, "Bad Request")
  }
  if (isAtroposError(error)) return new ApiError(400, error.message)
  if (error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE") {
    return new ApiError(400, "Unsupported Media Type: Only 'application/json' is allowed", null, "Bad Request")
  }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new ApiError(400, error.message, null, "Bad Request")
  }
  return undefined
}
