import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import { createChatTemplate } from "../../chat/chat-template.ts"
import type { Tokenizer } from "../../chat/tokenizer.ts"
import { explainListenFailure } from "../../runtime/listen-failure.ts"
import { isObject, type JsonObject } from "../transport/read.ts"
import { StubEngine } from "./engine.ts"
import { CutConnection, FailInside, type StubFault } from "./faults.ts"
import type { ScriptedAnswer } from "./generation.ts"
import { atroposGenerate, atroposRoutes } from "./routes/atropos-routes.ts"
import { StubRefusal, type StubContext, type StubDialect, type StubRoutes } from "./routes/context.ts"
import { Answered } from "./routes/generate.ts"
import { openAiRoutes } from "./routes/openai-routes.ts"
import { writeFailureInside, writeRefusal } from "./routes/refusals.ts"
import { sglangGenerate, sglangRoutes } from "./routes/sglang-routes.ts"
import { trlRoutes } from "./routes/trl-routes.ts"
import { vllmRoutes } from "./routes/vllm-routes.ts"
import { readText, StubCall } from "./stub-call.ts"
import { StubModel } from "./stub-model.ts"
import { createStubTokenizer, stubTokenizerName } from "./tokenizer/stub-tokenizer.ts"

/** A request that wants an answer, as scripts and faults see it. */
export interface StubQuestion {
  path: string
  body: Readonly<JsonObject>
  promptIds: readonly number[]
  promptText: string
  /** Of the answer among the `n` of the request. */
  index: number
}

export interface ModelStubOptions {
  /** @default 0: a free one */
  port?: number
  /** @default "127.0.0.1" */
  host?: string
  /** Whose words it speaks; "any" has the routes of all. @default "any" */
  dialect?: StubDialect
  /** One seed, one sequence of answers. @default 0 */
  seed?: number
  /** Mean length of an answer that nothing cuts. @default 24 */
  meanTokens?: number
  /** Its model ends no answer before so many tokens. @default 0 */
  minTokens?: number
  /** The name under which it serves; requests may use any. @default "atropos-stub" */
  model?: string
  /** @default 32_768 */
  contextTokens?: number
  /** Before the first token. @default 0 */
  latencyMs?: number
  /** @default 0 */
  millisecondsPerToken?: number
  /** What requests must bring as a bearer token. */
  apiKey?: string
  /** It gives one answer whatever `n` asks for. @default false */
  ignoresN?: boolean
  /** What it says in place of its model; undefined leaves an answer to the model. */
  answer?: (question: StubQuestion) => string | ScriptedAnswer | undefined
  /** What goes wrong with a request; `index` counts the requests for answers. */
  fault?: (request: { path: string; body: Readonly<JsonObject>; index: number }) => StubFault | undefined
  /** What a vLLM in its place says of itself. @default "0.33.0" */
  vllmVersion?: string
  /** Whether `/inference/v1/generate` is on. @default false */
  scaleOut?: boolean
}

export interface RecordedRequest {
  method: string
  path: string
  headers: Readonly<Record<string, unknown>>
  body: Readonly<JsonObject>
}

/** A fake inference server: a seeded or scripted model behind the routes of real ones, and what can go wrong there. */
export interface ModelStub {
  readonly url: string
  /** What goes into `base_url`. */
  readonly baseUrl: string
  readonly tokenizer: Tokenizer
  /** The name of the weights, as in `weight_version`. */
  version: string
  /** The latest requests, oldest first; a thousand at least. */
  readonly requests: readonly RecordedRequest[]
  /** Requests for answers that are being worked on. */
  readonly running: number
  /** Says these next, one an answer, before anything else. */
  script(...answers: (string | ScriptedAnswer)[]): void
  /** Lets the next requests for answers go wrong. */
  fail(fault: StubFault, times?: number): void
  /** As the servers' own routes do: "refuse" answers 503, "hold" lets running and new requests wait. */
  pause(how: "refuse" | "hold"): void
  resume(): void
  /** Ends what is running with what there is; resolves to the number of requests. */
  abort(): number
  close(): Promise<void>
}

const requestsKept = 1000

/** Starts a stub that listens. */
export async function createModelStub(options: ModelStubOptions = {}): Promise<ModelStub> {
  const { dialect = "any", host = "127.0.0.1", seed = 0 } = options
  const tokenizer = createStubTokenizer()
  const engine = new StubEngine(
    new StubModel(tokenizer, { seed, meanTokens: options.meanTokens ?? 24, minTokens: options.minTokens ?? 0 }),
    {
      seed,
      latencyMs: options.latencyMs ?? 0,
      millisecondsPerToken: options.millisecondsPerToken ?? 0,
    },
  )
  const faults: StubFault[] = []
  const scripted: (string | ScriptedAnswer)[] = []
  let questions = 0
  let ids = 0
  const context: StubContext = {
    dialect,
    model: options.model ?? stubTokenizerName,
    contextTokens: options.contextTokens ?? 32_768,
    engine,
    template: createChatTemplate(tokenizer),
    vllmVersion: options.vllmVersion ?? "0.33.0",
    scaleOut: options.scaleOut ?? false,
    paused: "no",
    nextId: () => (ids++).toString(16).padStart(8, "0"),
    nextFault({ path, body }) {
      const index = questions++
      const always: StubFault | undefined = options.ignoresN ? { kind: "one-choice" } : undefined
      return faults.shift() ?? options.fault?.({ path, body, index }) ?? always
    },
    script({ path, body }, promptIds, index) {
      const said =
        scripted.shift() ?? options.answer?.({ path, body, promptIds, promptText: tokenizer.decode(promptIds), index })
      return typeof said === "string" ? { text: said } : said
    },
  }
  const routes = routesOf(dialect)
  const requests: RecordedRequest[] = []

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readText(request)
    const call = new StubCall(request, response, text ?? "")
    try {
      if (text === undefined) throw new StubRefusal(413, "the body is too large")
      const { method, path, headers } = call
      call.body = parseBody(text)
      requests.push({ method, path, headers, body: call.body })
      if (requests.length >= 2 * requestsKept) requests.splice(0, requestsKept)
      if (options.apiKey !== undefined && needsKey(path) && headers.authorization !== `Bearer ${options.apiKey}`) {
        return call.json(401, { error: "Unauthorized" })
      }
      const route = routes[`${method} ${path}`]
      if (route !== undefined) return await route(context, call)
      const known = ["GET", "POST"].some((other) => `${other} ${path}` in routes)
      call.json(known ? 405 : 404, { detail: known ? "Method Not Allowed" : "Not Found" })
    } catch (error) {
      answerError(dialect, call, error)
    }
  }
  const server = createServer((request, response) => {
    // A client that goes away while it is read has nobody to be told.
    handle(request, response).catch(() => response.destroy())
  })
  // Like the servers that it stands for.
  server.keepAliveTimeout = 5_000
  await new Promise<void>((resolve, reject) => {
    const port = options.port ?? 0
    server.once("error", (error) => reject(explainListenFailure(error, host, port)))
    server.listen(port, host, resolve)
  })
  const { port } = server.address() as AddressInfo
  const url = `http://${host.includes(":") ? `[${host}]` : host}:${port}`
  return {
    url,
    baseUrl: dialect === "trl" ? url : `${url}${dialect === "openrouter" ? "/api" : ""}/v1`,
    tokenizer,
    requests,
    get version() {
      return engine.version
    },
    set version(version) {
      engine.version = version
    },
    get running() {
      return engine.running
    },
    script: (...answers) => void scripted.push(...answers),
    fail: (fault, times = 1) => void faults.push(...Array.from({ length: times }, () => fault)),
    pause(how) {
      context.paused = how
      if (how === "hold") engine.freeze()
    },
    resume() {
      context.paused = "no"
      engine.thaw()
    },
    abort: () => engine.abort(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function routesOf(dialect: StubDialect): StubRoutes {
  switch (dialect) {
    case "vllm":
      return { ...openAiRoutes, ...vllmRoutes }
    case "sglang":
      return { ...openAiRoutes, ...sglangRoutes }
    case "trl":
      return trlRoutes
    case "atropos-vllm":
      return atroposRoutes
    case "openai":
      return openAiRoutes
    case "openrouter":
      return Object.fromEntries(
        Object.entries(openAiRoutes).map(([key, route]) => [key.replace(" /v1", " /api/v1"), route]),
      )
    case "any":
      return {
        ...trlRoutes,
        ...sglangRoutes,
        ...openAiRoutes,
        ...vllmRoutes,
        "POST /generate": (context, call) => ("prompt" in call.body ? atroposGenerate : sglangGenerate)(context, call),
      }
  }
}

function parseBody(text: string): JsonObject {
  if (text === "") return {}
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw new StubRefusal(400, "JSON decode error", { param: "body" })
  }
  if (!isObject(body)) throw new StubRefusal(400, "the body must be an object", { param: "body" })
  return body
}

function answerError(dialect: StubDialect, call: StubCall, error: unknown): void {
  if (error instanceof Answered || call.signal.aborted) return
  if (error instanceof CutConnection) return call.cut()
  if (error instanceof FailInside) return writeFailureInside(dialect, call, error)
  if (call.answered) return call.cut()
  if (error instanceof StubRefusal) return writeRefusal(dialect, call, error)
  const message = error instanceof Error ? error.message : String(error)
  writeRefusal(dialect, call, new StubRefusal(500, message))
}

/** vLLM guards these and no others. */
function needsKey(path: string): boolean {
  return /^\/(api\/)?(v1|v2|inference)\b/.test(path)
}
