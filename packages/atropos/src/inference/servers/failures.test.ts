import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test } from "vitest"

import type { RequestOptions } from "../inference-server.ts"
import type { StubFault } from "../stub/faults.ts"
import { createModelStub, type ModelStub } from "../stub/model-stub.ts"
import type { StubDialect } from "../stub/routes/context.ts"
import { openServer, type SingleServer } from "./open-server.ts"
import type { ServerType } from "./server-config.ts"

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource.close()
})

interface Kind {
  dialect: StubDialect
  type: ServerType
  /** Whether it can be asked for token ids; else a chat it is. */
  ids: boolean
  streams: boolean
}

const kinds: Kind[] = [
  { dialect: "vllm", type: "vllm", ids: true, streams: true },
  { dialect: "atropos-vllm", type: "vllm", ids: true, streams: false },
  { dialect: "sglang", type: "sglang", ids: true, streams: true },
  { dialect: "trl", type: "trl", ids: true, streams: false },
  { dialect: "openai", type: "openai", ids: false, streams: true },
  { dialect: "openrouter", type: "openai", ids: false, streams: true },
]

async function start(kind: Kind, timeoutMs = 5_000): Promise<{ stub: ModelStub; ask: Ask; server: SingleServer }> {
  const stub = await createModelStub({ dialect: kind.dialect })
  const server = openServer(kind.type, { baseUrl: stub.baseUrl, model: "m", tokenizer: stub.tokenizer, timeoutMs })
  opened.push(stub, server)
  const ask: Ask = (options) =>
    kind.ids
      ? server.completeTokens([1, 50, 60], { maxTokens: 12, ignoreEos: true }, options)
      : server.chat({ messages: [{ role: "user", content: "Hi" }], sampling: { maxTokens: 12 } }, options)
  return { stub, ask, server }
}

type Ask = (options?: RequestOptions) => Promise<{ choices: { finishReason: string }[] }>

const statuses: [status: number, retryable: boolean][] = [
  [400, false],
  [401, false],
  [402, false],
  [403, false],
  [408, true],
  [409, true],
  [422, false],
  [429, true],
  [500, true],
  [502, true],
  [503, true],
]

describe.each(kinds)("$dialect", (kind) => {
  test("tells every status with the server's own words, and whether to try again", async () => {
    const { stub, ask } = await start(kind)
    for (const [status, retryable] of statuses) {
      stub.fail({ kind: "status", status, message: `word ${status}` })
      const failure = { code: "inference-request", retryable, facts: { status, serverMessage: `word ${status}` } }
      // oxlint-disable-next-line no-await-in-loop
      await expect(ask()).rejects.toMatchObject(failure)
    }
    expect((await ask()).choices).toHaveLength(1)
  })

  test("keeps what Retry-After says", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "status", status: 429, retryAfterSeconds: 7 })
    await expect(ask()).rejects.toMatchObject({ facts: { retryAfterMs: 7000 } })
  })

  test("an error inside a 200 is an error", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "error-inside", message: "upstream broke", code: 502 })
    await expect(ask()).rejects.toMatchObject({
      code: "inference-request",
      retryable: true,
      message: expect.stringMatching(/upstream broke/),
    })
    stub.fail({ kind: "error-inside", message: "bad prompt", code: 400 })
    await expect(ask()).rejects.toMatchObject({ retryable: false, message: expect.stringMatching(/bad prompt/) })
  })

  test("a cut connection can be tried again", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "cut" })
    await expect(ask()).rejects.toMatchObject({ code: "inference-network", retryable: true })
    expect((await ask()).choices).toHaveLength(1)
  })

  test("a server that never answers is waited for as long as it was allowed", async () => {
    const { stub, ask } = await start(kind, 60)
    stub.fail({ kind: "hang" })
    await expect(ask()).rejects.toMatchObject({
      code: "inference-timeout",
      message: expect.stringMatching(/within 0.06 s/),
    })
  })

  test("the caller's signal ends a request with the caller's reason", async () => {
    const { stub, ask } = await start(kind)
    // What a server is asked about itself first should not be in the way.
    await ask()
    stub.fail({ kind: "hang" })
    const controller = new AbortController()
    const answer = ask({ signal: controller.signal })
    controller.abort(new Error("enough"))
    await expect(answer).rejects.toThrow("enough")
    await expect(ask({ signal: controller.signal })).rejects.toThrow("enough")
  })

  test("a page in place of an answer is an error that names the server", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "garbage", body: "<html>Bad gateway</html>" })
    await expect(ask()).rejects.toMatchObject({
      code: "inference-answer",
      message: expect.stringMatching(/127\.0\.0\.1/),
    })
    stub.fail({ kind: "garbage", body: "{}" })
    await expect(ask()).rejects.toMatchObject({ code: "inference-answer" })
  })

  test("an answer that the server ended is marked as no sample", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "abort", afterTokens: 3 })
    const { choices } = await ask()
    // TRL has no word for it.
    expect(choices[0]?.finishReason).toBe(kind.dialect === "trl" ? "stop" : "abort")
  })

  test("its cheapest health route answers", async () => {
    const { server } = await start(kind)
    await server.health()
  })
})

describe.each(kinds.filter(({ streams }) => streams))("a stream of $dialect", (kind) => {
  const faults: [StubFault, object][] = [
    [
      { kind: "cut", afterTokens: 2 },
      { code: "inference-network", retryable: true },
    ],
    [
      { kind: "error-inside", afterTokens: 2, message: "broke off" },
      { code: "inference-request", message: expect.stringMatching(/broke off/) },
    ],
    [
      { kind: "status", status: 500, message: "no" },
      { code: "inference-request", retryable: true },
    ],
  ]
  test.each(faults)("with the fault %o is an error", async (fault, error) => {
    const { stub, ask } = await start(kind)
    let tokens = 0
    stub.fail(fault)
    await expect(ask({ onDelta: () => (tokens += 1) })).rejects.toMatchObject(error)
    expect(tokens).toBeLessThan(12)
  })

  test("tells pieces and then that the server ended it", async () => {
    const { stub, ask } = await start(kind)
    stub.fail({ kind: "abort", afterTokens: 3 })
    const reasons: unknown[] = []
    const { choices } = await ask({ onDelta: ({ finishReason }) => reasons.push(finishReason) })
    expect(choices[0]?.finishReason).toBe("abort")
    expect(reasons.filter((reason) => reason !== undefined)).toEqual(["abort"])
  })

  test("with a handler that throws ends with what it threw", async () => {
    const { ask } = await start(kind)
    const onDelta = (): void => {
      throw new TypeError("handler")
    }
    await expect(ask({ onDelta })).rejects.toThrow("handler")
  })
})

test("a server that is not there is named, with what the system says", async () => {
  const server = openServer("vllm", { baseUrl: `http://127.0.0.1:${await freePort()}/v1`, model: "m" })
  opened.push(server)
  const failure = {
    code: "inference-network",
    retryable: true,
    message: expect.stringMatching(/vLLM at http.*ECONNREFUSED/),
  }
  await expect(server.completeTokens([1], { maxTokens: 1 })).rejects.toMatchObject(failure)
})

test.each(["", "localhost:9001", "file:///tmp"])("refuses %j as a base_url", (baseUrl) => {
  expect(() => openServer("vllm", { baseUrl, model: "m" })).toThrow(/base_url must be an address/)
})

test("a key goes along as given, and none when there is none", async () => {
  const stub = await createModelStub({ dialect: "vllm" })
  opened.push(stub)
  for (const apiKey of ["sekret", ""]) {
    const server = openServer("vllm", { baseUrl: stub.baseUrl, model: "m", apiKey })
    opened.push(server)
    // oxlint-disable-next-line no-await-in-loop
    await server.completeTokens([5], { maxTokens: 1 })
  }
  const asked = stub.requests.filter(({ path }) => path === "/v1/completions")
  expect(asked.map(({ headers }) => headers["authorization"])).toEqual(["Bearer sekret", undefined])
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
