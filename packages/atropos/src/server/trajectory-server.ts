import { randomBytes } from "node:crypto"
import type { AddressInfo } from "node:net"
import { constants, inflateRawSync } from "node:zlib"

import Fastify, { type FastifyReply } from "fastify"

import type { z } from "zod"

import { environmentIdRequest, registerEnvironmentRequest, registerRequest } from "../protocol/messages.ts"
import { silentLogger, type Logger } from "../runtime/logger.ts"
import type { Ingest } from "./bytes/prepared-group.ts"
import { simpleIngest } from "./http/simple-ingest.ts"
import { Run } from "./run/thin-run.ts"
import type { Payload, Store } from "./stores/store.ts"

export interface TrajectoryServerOptions {
  store: Store
  ingest?: Ingest
  logger?: Logger
}

export interface TrajectoryServer {
  /** Starts to answer; resolves to the address, such as `http://127.0.0.1:8000`. */
  listen(options: { host: string; port: number }): Promise<string>
  /** Ends open answers, flushes the store and closes it. */
  close(): Promise<void>
}

/** The server that environments push scored groups to and trainers pull exact batches from. */
export function createTrajectoryServer(options: TrajectoryServerOptions): TrajectoryServer {
  const { store, ingest = simpleIngest, logger = silentLogger } = options
  let run = new Run()
  let nextGroupId = 0
  const app = Fastify({ exposeHeadRoutes: false, bodyLimit: 256e6, forceCloseConnections: true })
  app.addHttpMethod("GET", { hasBody: true, overrideExisting: true })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body))

  app.get("/", () => ({ message: "AtroposLib API" }))
  app.get("/health", () => ({ status: "ok" }))
  app.post("/register", async (request, reply) => {
    const body = check(registerRequest, request.body, reply)
    if (body === null) return reply
    const outcome = run.register(body)
    if (outcome === "updated") logger.warn("another registration replaces the first")
    const uuid = BigInt(`0x${randomBytes(16).toString("hex")}`)
    return reply.type("application/json").send(`{"uuid":${uuid}${outcome === "updated" ? ',"status":"updated"' : ""}}`)
  })
  app.get("/wandb_info", () => ({
    group: run.registration?.wandb_group ?? null,
    project: run.registration?.wandb_project ?? null,
  }))
  app.get("/info", () => ({
    batch_size: run.registration?.batch_size ?? -1,
    max_token_len: run.registration?.max_token_len ?? -1,
  }))
  app.get("/status", () => ({
    current_step: run.registration === null ? 0 : run.step,
    queue_size: run.registration === null ? 0 : run.queueSize,
  }))
  app.get("/batch", async (_request, reply) => {
    if (run.registration === null) {
      return { status: "error", message: "Trainer not registered. Call /register first.", batch: [] }
    }
    run.started = true
    const ids = run.takeBatch()
    if (ids === null) return { batch: null }
    const groups = await Promise.all(ids.map((id) => store.read(id)))
    return reply.type("application/json").send(`{"batch":[${groups.map(inflate).join(",")}]}`)
  })
  app.get("/latest_example", async (_request, reply) => {
    if (run.latest === null) {
      const names = ["tokens", "masks", "scores", "advantages", "ref_logprobs", "generation_params"]
      return Object.fromEntries([...names, "inference_logprobs", "messages", "images"].map((name) => [name, []]))
    }
    return reply.type("application/json").send(inflate(await store.read(run.latest)))
  })
  app.get("/reset_data", async (_request, reply) => {
    run = new Run()
    await store.commit({ events: [], payloads: [], beginsRun: true })
    return reply.type("text/plain").send("Reset successful")
  })
  app.post("/register-env", async (request, reply) => {
    const body = check(registerEnvironmentRequest, request.body, reply)
    if (body === null) return reply
    if (!run.started || run.registration === null) return { status: "wait for trainer to start" }
    const before = run.environments.filter((entry) => entry.registration.desired_name === body.desired_name).length
    return {
      status: "success",
      env_id: run.registerEnvironment(body),
      wandb_name: `${body.desired_name}_${before}`,
      checkpoint_dir: run.registration.checkpoint_dir,
      starting_step: run.step,
      checkpoint_interval: run.registration.save_checkpoint_interval,
      num_steps: run.registration.num_steps,
    }
  })
  app.post("/disconnect-env", async (request, reply) => {
    const body = check(environmentIdRequest, request.body, reply)
    if (body === null) return reply
    const environment = run.environments[body.env_id]
    if (environment === undefined) return { status: "failure", error: `no environment has the id ${body.env_id}` }
    environment.connected = false
    return { status: "success" }
  })
  app.route({
    method: ["GET", "POST"],
    url: "/status-env",
    handler: (request, reply) => {
      const query = (request.query as Record<string, string>)["env_id"]
      if (query !== undefined) return reply.send(run.environmentStatus(Number(query)))
      const body = check(environmentIdRequest, request.body, reply)
      return body === null ? reply : reply.send(run.environmentStatus(body.env_id))
    },
  })
  for (const [path, kind] of [
    ["/scored_data", "one"],
    ["/scored_data_list", "list"],
  ] as const) {
    app.post(path, async (request, reply) => {
      const body = request.body instanceof Uint8Array ? request.body : new Uint8Array()
      const gzip = request.headers["content-encoding"] === "gzip"
      const result = await ingest.ingest({ kind, body, gzip, json: true })
      if (!result.ok) {
        return reply.code(result.refusal.status).type(result.refusal.contentType).send(result.refusal.body)
      }
      const groups = result.groups.map((group) => ({ ...group, groupId: nextGroupId++ }))
      await store.commit({ events: [], payloads: groups })
      const buffered = groups
        .map(({ groupId, size, envId }) => run.push({ id: groupId, size, env: envId === "unknown" ? null : envId }))
        .filter((size) => size !== null)
      const last = buffered.at(-1)
      if (kind === "one") return last === undefined ? { status: "received" } : { status: "buffered", buffer_size: last }
      const counts = last === undefined ? {} : { buffered: buffered.length, last_buffer_size: last }
      return { status: "received", groups_processed: groups.length, ...counts }
    })
  }

  return {
    async listen({ host, port }) {
      await app.listen({ host, port })
      const address = app.server.address() as AddressInfo
      return `http://${address.family === "IPv6" ? `[${address.address}]` : address.address}:${address.port}`
    },
    async close() {
      await app.close()
      await ingest.close()
      await store.close()
    },
  }
}

function check<Schema extends z.ZodType>(schema: Schema, body: unknown, reply: FastifyReply): z.output<Schema> | null {
  const text = body instanceof Uint8Array ? Buffer.from(body).toString() : ""
  const result = schema.safeParse(text === "" ? null : JSON.parse(text))
  if (result.success) return result.data
  void reply
    .code(422)
    .send({ detail: result.error.issues.map(({ path, message }) => ({ loc: ["body", ...path], msg: message })) })
  return null
}

function inflate(payload: Payload): string {
  return inflateRawSync(payload.segment, { finishFlush: constants.Z_SYNC_FLUSH }).toString()
}
