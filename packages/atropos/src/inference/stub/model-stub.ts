import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

import type { Tokenizer } from "../../chat/tokenizer.ts"
import { drawSeed, sampleAnswer, type Sample, type StubRequest } from "./generation.ts"
import { StubModel } from "./stub-model.ts"
import { createStubTokenizer } from "./tokenizer/stub-tokenizer.ts"

export interface ModelStubOptions {
  /** @default 0: a free one */
  port?: number
  /** @default "127.0.0.1" */
  host?: string
  /** One seed, one sequence of answers. @default 0 */
  seed?: number
  /** Mean length of an answer that nothing cuts. @default 24 */
  meanTokens?: number
  /** The name under which it serves. @default "atropos-stub" */
  model?: string
}

/** A fake inference server: a seeded model behind the routes of real ones. */
export interface ModelStub {
  readonly url: string
  /** What goes into `base_url`: `url` with `/v1`. */
  readonly baseUrl: string
  readonly tokenizer: Tokenizer
  /** The name of the weights, as in `weight_version`. */
  version: string
  close(): Promise<void>
}

/** Starts a stub that listens. */
export async function createModelStub(options: ModelStubOptions = {}): Promise<ModelStub> {
  const seed = options.seed ?? 0
  const name = options.model ?? "atropos-stub"
  const tokenizer = createStubTokenizer()
  const model = new StubModel(tokenizer, { seed, meanTokens: options.meanTokens ?? 24 })
  const state = { version: "default", requests: 0 }

  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = request.url ?? "/"
    if (path === "/health") return sendJson(response, 200, undefined)
    if (path === "/version") return sendJson(response, 200, { version: "0.32.0" })
    if (path === "/weight_info") return sendJson(response, 200, { weight_version: state.version })
    if (path === "/v1/completions" && request.method === "POST") {
      const body = JSON.parse(await readBody(request)) as Record<string, unknown>
      const wanted = readRequest(body)
      const count = state.requests++
      const samples = Array.from({ length: wanted.n }, (_, index) =>
        sampleAnswer(model, wanted, "raw", drawSeed(seed, wanted, count, index)),
      )
      return sendJson(response, 200, completionBody(name, state.version, body, wanted, samples))
    }
    return sendJson(response, 404, { detail: "Not Found" })
  }
  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => sendJson(response, 500, { error: { message: String(error) } }))
  })
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port ?? 0, options.host ?? "127.0.0.1", resolve)
  })
  const { port } = server.address() as AddressInfo
  const url = `http://${options.host ?? "127.0.0.1"}:${port}`
  return {
    url,
    baseUrl: `${url}/v1`,
    tokenizer,
    get version() {
      return state.version
    },
    set version(version) {
      state.version = version
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function readRequest(body: Record<string, unknown>): StubRequest {
  const number = (field: string, fallback: number): number =>
    typeof body[field] === "number" ? (body[field] as number) : fallback
  return {
    promptIds: body["prompt"] as number[],
    n: number("n", 1),
    maxTokens: number("max_tokens", 16),
    sampling: {
      temperature: number("temperature", 1),
      topP: number("top_p", 1),
      topK: number("top_k", 0),
      minP: number("min_p", 0),
      minTokens: number("min_tokens", 0),
      ignoreEos: body["ignore_eos"] === true,
      logitBias: new Map(),
      seed: typeof body["seed"] === "number" ? body["seed"] : undefined,
    },
    stop: Array.isArray(body["stop"]) ? (body["stop"] as string[]) : [],
    stopTokenIds: Array.isArray(body["stop_token_ids"]) ? (body["stop_token_ids"] as number[]) : [],
    topLogprobs: number("logprobs", 0),
  }
}

function completionBody(
  model: string,
  version: string,
  body: Record<string, unknown>,
  request: StubRequest,
  samples: readonly Sample[],
): unknown {
  const completionTokens = samples.reduce((sum, sample) => sum + sample.tokens.length, 0)
  return {
    id: "cmpl-stub",
    object: "text_completion",
    created: 0,
    model,
    choices: samples.map((sample, index) => ({
      index,
      text: sample.text,
      logprobs: { tokens: sample.pieces, token_logprobs: sample.tokens.map((token) => token.logprob) },
      finish_reason: sample.finishReason,
      stop_reason: sample.stopReason,
      token_ids: body["return_token_ids"] === true ? sample.tokens.map((token) => token.id) : null,
      prompt_token_ids: body["return_token_ids"] === true ? request.promptIds : null,
      weight_versions:
        body["return_weight_versions"] === true ? [{ version, start: 0, end: sample.tokens.length }] : null,
    })),
    usage: {
      prompt_tokens: request.promptIds.length,
      completion_tokens: completionTokens,
      total_tokens: request.promptIds.length + completionTokens,
    },
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece as Buffer)
  return Buffer.concat(pieces).toString()
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  const text = body === undefined ? "" : JSON.stringify(body)
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    .end(text)
}
