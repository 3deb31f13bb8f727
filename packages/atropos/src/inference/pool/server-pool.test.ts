import { createServer as createHttpServer } from "node:http"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import { afterEach, describe, expect, test, vi } from "vitest"

import type { CompletionDelta } from "../inference-server.ts"
import { openServer } from "../servers/open-server.ts"
import { createModelStub, type ModelStub, type ModelStubOptions } from "../stub/model-stub.ts"
import { ServerPool, type PoolMember, type ServerPoolOptions } from "./server-pool.ts"

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const resource of opened.splice(0).toReversed()) await resource.close()
})

async function startStub(options: ModelStubOptions = {}): Promise<ModelStub> {
  const stub = await createModelStub({ dialect: "vllm", ...options })
  opened.push(stub)
  return stub
}

/** Waits that would make tests slow are cut short; nothing else differs. */
const quick: ServerPoolOptions = {
  retry: { firstDelayMs: 1, longestDelayMs: 2, longestRetryAfterMs: 5 },
  healthIntervalMs: 5,
}

function poolOf(
  stubs: readonly ModelStub[],
  options: ServerPoolOptions = {},
  member: Omit<PoolMember, "server"> = {},
): ServerPool {
  const members = stubs.map(({ baseUrl }) => {
    const server = openServer(baseUrl.includes("/api/") ? "openai" : "vllm", { baseUrl, model: "m", timeoutMs: 10_000 })
    return { server, ...member }
  })
  const pool = new ServerPool(members, { ...quick, ...options })
  opened.push(pool)
  return pool
}

const prompt = [1, 50, 60]

function asked(stub: ModelStub): Record<string, unknown>[] {
  return stub.requests.filter(({ path }) => path.endsWith("completions")).map(({ body }) => body)
}

describe("several answers", () => {
  test("are asked for in as few requests as a server should get, and put together in order", async () => {
    const stub = await startStub()
    const pool = poolOf([stub])
    const answer = await pool.completeTokens(prompt, { n: 20, maxTokens: 4 })
    expect(asked(stub).map(({ n }) => n)).toEqual([8, 8, 4])
    expect(answer.choices).toHaveLength(20)
    expect(answer.usage.promptTokens).toBe(3)
    expect(answer.usage.completionTokens).toBe(answer.choices.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0))
  })

  test("stream with the numbers they have in the whole", async () => {
    const pool = poolOf([await startStub()], { maxCompletions: 2 })
    const pieces: CompletionDelta[] = []
    const answer = await pool.completeTokens(prompt, { n: 5, maxTokens: 6 }, { onDelta: (delta) => pieces.push(delta) })
    for (const [index, { tokenIds }] of answer.choices.entries()) {
      const own = pieces.filter(({ choice }) => choice === index)
      expect(own.flatMap((piece) => piece.tokenIds ?? [])).toEqual(tokenIds)
    }
  })

  test("come singly, without a request too many, from a provider that ignores n", async () => {
    const stub = await startStub({ dialect: "openrouter", ignoresN: true })
    const pool = poolOf([stub])
    const messages = [{ role: "user", content: "Hi" }]
    const first = await pool.chat({ messages, sampling: { n: 3 } })
    expect(first.choices).toHaveLength(3)
    expect(asked(stub).map(({ n }) => n)).toEqual([3, undefined, undefined])
    const second = await pool.chat({ messages, sampling: { n: 4 } })
    expect(second.choices).toHaveLength(4)
    expect(asked(stub)).toHaveLength(7)
    await pool.chat({ messages, sampling: { n: 1 } })
    expect(asked(stub)).toHaveLength(8)
  })

  test("leave out what the server aborted and ask again for that many", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { maxCompletions: 2 })
    stub.fail({ kind: "abort", afterTokens: 1 })
    const answer = await pool.completeTokens(prompt, { n: 4, maxTokens: 9, ignoreEos: true })
    expect(answer.choices.map(({ finishReason }) => finishReason)).toEqual(["length", "length", "length", "length"])
    expect(asked(stub).map(({ n }) => n)).toEqual([2, 2, 2])
  })

  test("end together when one request for them cannot succeed", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { maxCompletions: 1 })
    stub.fail({ kind: "status", status: 400, message: "no such thing" })
    await expect(pool.completeTokens(prompt, { n: 3, maxTokens: 2 })).rejects.toThrow(/no such thing/)
    expect(pool.status()[0]).toMatchObject({ train: 0 })
  })
})

describe("a request that fails", () => {
  test.each([429, 408, 409, 500, 503])("with %i is tried again", async (status) => {
    const stub = await startStub()
    const pool = poolOf([stub])
    stub.fail({ kind: "status", status, retryAfterSeconds: 3600 }, 2)
    expect((await pool.completeTokens(prompt, { maxTokens: 2 })).choices).toHaveLength(1)
    expect(asked(stub)).toHaveLength(3)
  })

  test.each([400, 401, 402, 404, 422])("with %i is not", async (status) => {
    const stub = await startStub()
    const pool = poolOf([stub])
    stub.fail({ kind: "status", status, message: "in its own words" })
    const failure = { facts: { status }, message: expect.stringContaining("in its own words") as unknown }
    await expect(pool.completeTokens(prompt, { maxTokens: 2 })).rejects.toMatchObject(failure)
    expect(asked(stub)).toHaveLength(1)
  })

  test("for want of quota is not, whatever its status", async () => {
    const stub = await startStub({ dialect: "openai" })
    const server = openServer("openai", { baseUrl: stub.baseUrl, model: "m" })
    const pool = new ServerPool([{ server }], quick)
    opened.push(pool)
    stub.fail({ kind: "status", status: 429, code: "insufficient_quota" })
    await expect(pool.chat({ messages: [{ role: "user", content: "Hi" }] })).rejects.toMatchObject({ retryable: false })
    expect(asked(stub)).toHaveLength(1)
  })

  test("every time tells in the end what the server said, and how often it was asked stays bounded", async () => {
    const stub = await startStub()
    const pool = poolOf([stub])
    stub.fail({ kind: "status", status: 500, message: "still broken" }, 20)
    await expect(pool.completeTokens(prompt, { maxTokens: 2 })).rejects.toThrow(/answered 500: still broken/)
    expect(asked(stub)).toHaveLength(6)
  })

  test("goes to another server, of which one that fails at once gets few", async () => {
    const broken = await startStub({ fault: () => ({ kind: "status", status: 500 }) })
    const good = await startStub()
    const pool = poolOf([broken, good])
    await Promise.all(Array.from({ length: 100 }, () => pool.completeTokens(prompt, { maxTokens: 2 })))
    expect(asked(good)).toHaveLength(100)
    expect(asked(broken).length).toBeLessThanOrEqual(60)
    for (let i = 0; i < 40; i++) {
      // oxlint-disable-next-line no-await-in-loop
      await pool.completeTokens(prompt, { maxTokens: 2 })
    }
    // One after the other: the broken one looks idle each time, and is known all the same.
    expect(asked(good)).toHaveLength(140)
    expect(asked(broken).length).toBeLessThanOrEqual(61)
  })

  test("after a piece was passed on is not repeated", async () => {
    const stub = await startStub()
    const pool = poolOf([stub])
    stub.fail({ kind: "error-inside", afterTokens: 3, message: "broke off" })
    const pieces: CompletionDelta[] = []
    const options = { onDelta: (delta: CompletionDelta) => void pieces.push(delta) }
    const answer = pool.completeTokens(prompt, { maxTokens: 9, ignoreEos: true }, options)
    await expect(answer).rejects.toThrow(/broke off/)
    expect(pieces).toHaveLength(3)
    expect(asked(stub)).toHaveLength(1)
  })

  test("after a piece with nothing in it is repeated", async () => {
    const piece = (delta: object, reason: string | null): string =>
      `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: reason }] })}\n\n`
    let requests = 0
    const provider = createHttpServer((_request, response) => {
      requests += 1
      response.writeHead(200, { "content-type": "text/event-stream" })
      const opening = piece({ role: "assistant", content: "" }, null)
      if (requests === 1) response.write(opening, () => response.destroy())
      else response.end(`${opening}${piece({ content: "Hi" }, "stop")}data: [DONE]\n\n`)
    })
    await new Promise<void>((resolve) => provider.listen(0, "127.0.0.1", resolve))
    opened.push({
      close: () =>
        new Promise((resolve) => {
          provider.close(() => resolve())
          provider.closeAllConnections()
        }),
    })
    const { port } = provider.address() as AddressInfo
    const server = openServer("openai", { baseUrl: `http://127.0.0.1:${port}/v1`, model: "m" })
    const pool = new ServerPool([{ server }], { ...quick, healthChecks: false })
    opened.push(pool)
    const pieces: CompletionDelta[] = []
    await pool.chat({ messages: [{ role: "user", content: "q" }] }, { onDelta: (delta) => pieces.push(delta) })
    expect(requests).toBe(2)
    expect(pieces).toEqual([{ choice: 0, text: "Hi", finishReason: "stop" }])
  })

  test("because answers are aborted over and over says that there is no sample", async () => {
    const stub = await startStub({ fault: () => ({ kind: "abort", afterTokens: 1 }) })
    const pool = poolOf([stub])
    const answer = pool.completeTokens(prompt, { maxTokens: 9, ignoreEos: true })
    await expect(answer).rejects.toMatchObject({ code: "inference-aborted", retryable: true })
  })
})

describe("places", () => {
  test("bound the requests of each split at each server, and those who wait get them in order", async () => {
    const stubs = [await startStub(), await startStub()]
    const pool = poolOf(stubs, {}, { trainPlaces: 3, evalPlaces: 1 })
    for (const stub of stubs) stub.pause("hold")
    const order: number[] = []
    const requests = Array.from({ length: 10 }, (_, index) =>
      pool.completeTokens(prompt, { maxTokens: 1 }).then(() => order.push(index)),
    )
    const evaluations = [1, 2, 3].map(() => pool.completeTokens(prompt, { maxTokens: 1 }, { split: "eval" }))
    await vi.waitFor(() => expect(stubs.map(({ running }) => running)).toEqual([4, 4]))
    expect(pool.status().map(({ train, eval: evaluation }) => [train, evaluation])).toEqual([
      [3, 1],
      [3, 1],
    ])
    for (const stub of stubs) stub.resume()
    await Promise.all([...requests, ...evaluations])
    expect(order.slice(0, 6).toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5])
    expect(pool.status().every(({ train, eval: evaluation }) => train === 0 && evaluation === 0)).toBe(true)
  })

  test("are as many as the environment's weight leaves, and more at once when it grows", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], {}, { trainPlaces: 8, evalPlaces: 4 })
    pool.setWeight(0.25)
    stub.pause("hold")
    const requests = Array.from({ length: 12 }, () => pool.completeTokens(prompt, { maxTokens: 1 }))
    await vi.waitFor(() => expect(stub.running).toBe(2))
    pool.setWeight(0.75)
    await vi.waitFor(() => expect(stub.running).toBe(6))
    // Never none at all.
    pool.setWeight(0.01)
    stub.resume()
    await Promise.all(requests)
  })

  test("go to the least taken server", async () => {
    const stubs = [await startStub(), await startStub(), await startStub(), await startStub()]
    const pool = poolOf(stubs)
    for (const stub of stubs) stub.pause("hold")
    const requests = Array.from({ length: 40 }, () => pool.completeTokens(prompt, { maxTokens: 1 }))
    await vi.waitFor(() => expect(stubs.map(({ running }) => running)).toEqual([10, 10, 10, 10]))
    for (const stub of stubs) stub.resume()
    await Promise.all(requests)
  })

  test("that nobody wants any more are not given", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], {}, { trainPlaces: 1 })
    stub.pause("hold")
    const first = pool.completeTokens(prompt, { maxTokens: 1 })
    await vi.waitFor(() => expect(stub.running).toBe(1))
    const controller = new AbortController()
    const second = pool.completeTokens(prompt, { maxTokens: 1 }, { signal: controller.signal })
    const third = pool.completeTokens(prompt, { maxTokens: 1 })
    controller.abort(new Error("no longer"))
    await expect(second).rejects.toThrow("no longer")
    stub.resume()
    await Promise.all([first, third])
    expect(asked(stub)).toHaveLength(2)
  })

  test("are waited for no longer than allowed, with a word on what for", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { waitMs: 20 }, { trainPlaces: 1 })
    stub.pause("hold")
    const first = pool.completeTokens(prompt, { maxTokens: 1 })
    const failure = {
      code: "inference-timeout",
      message: expect.stringMatching(/has 1 of 1 train places taken/) as unknown,
    }
    await expect(pool.completeTokens(prompt, { maxTokens: 1 })).rejects.toMatchObject(failure)
    stub.resume()
    await first
  })
})

describe("requests with one key", () => {
  test("go to one server, others elsewhere", async () => {
    const stubs = [await startStub(), await startStub(), await startStub()]
    const pool = poolOf(stubs)
    const conversation = async (key: string): Promise<void> => {
      for (let turn = 0; turn < 5; turn++) {
        // oxlint-disable-next-line no-await-in-loop
        await pool.completeTokens([...prompt, ...Buffer.from(key)], { maxTokens: 1 }, { stickyKey: key })
      }
    }
    const keys = Array.from({ length: 12 }, (_, index) => `key ${index}`)
    await Promise.all(keys.map(conversation))
    const seen = stubs.map((stub) => new Set(asked(stub).map(({ prompt: ids }) => JSON.stringify(ids))))
    expect(seen.reduce((sum, { size }) => sum + size, 0)).toBe(keys.length)
    expect(seen.map(({ size }) => size)).toEqual([4, 4, 4])
  })

  test("wait for their server when it is full, before those who came later", async () => {
    const stubs = [await startStub(), await startStub()]
    const pool = poolOf(stubs, {}, { trainPlaces: 1 })
    await pool.completeTokens([5], { maxTokens: 1 }, { stickyKey: "a" })
    const own = stubs.find((stub) => asked(stub).length === 1)!
    own.pause("hold")
    const blocking = pool.completeTokens([6], { maxTokens: 1 }, { stickyKey: "a" })
    await vi.waitFor(() => expect(own.running).toBe(1))
    const waiting = pool.completeTokens([7], { maxTokens: 1 }, { stickyKey: "a" })
    await pool.completeTokens([8], { maxTokens: 1 })
    own.resume()
    await Promise.all([blocking, waiting])
    expect(asked(own).map(({ prompt: ids }) => ids)).toEqual([[5], [6], [7]])
  })
})

describe("a server", () => {
  test("that is gone gets no requests until it is back", async () => {
    const port = await freePort()
    const first = await startStub({ port })
    const second = await startStub()
    const pool = poolOf([first, second])
    await pool.completeTokens(prompt, { maxTokens: 1 }, { stickyKey: "a" })
    await first.close()
    const requests = Array.from({ length: 20 }, (_, index) =>
      pool.completeTokens(prompt, { maxTokens: 1 }, { stickyKey: `k${index}` }),
    )
    await Promise.all(requests)
    await vi.waitFor(() => expect(pool.status()[0]?.state).toBe("unhealthy"))
    await pool.completeTokens(prompt, { maxTokens: 1 }, { stickyKey: "a" })
    const again = await startStub({ port })
    await vi.waitFor(() => expect(pool.status()[0]?.state).toBe("well"))
    await Promise.all(Array.from({ length: 4 }, () => pool.completeTokens(prompt, { maxTokens: 1 })))
    expect(asked(again).length).toBeGreaterThan(0)
  })

  test("alone and gone is waited for", async () => {
    const port = await freePort()
    const first = await startStub({ port })
    const pool = poolOf([first], { retry: { firstDelayMs: 50 } })
    await pool.completeTokens(prompt, { maxTokens: 1 })
    await first.close()
    const answer = pool.completeTokens(prompt, { maxTokens: 1 })
    await vi.waitFor(() => expect(pool.status()[0]?.state).toBe("unhealthy"))
    await startStub({ port })
    expect((await answer).choices).toHaveLength(1)
  })

  test("alone and gone for too long says what is the matter", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { waitMs: 100 })
    await stub.close()
    const failure = {
      code: "inference-timeout",
      message: expect.stringMatching(/is unhealthy \(.*ECONNREFUSED/) as unknown,
    }
    await expect(pool.completeTokens(prompt, { maxTokens: 1 })).rejects.toMatchObject(failure)
  })

  test("that is paused is waited for and not struck off", async () => {
    const stub = await startStub()
    const pool = poolOf([stub])
    stub.pause("refuse")
    const answers = Array.from({ length: 30 }, () => pool.completeTokens(prompt, { maxTokens: 1 }))
    await vi.waitFor(() => expect(pool.status()[0]?.state).toBe("paused"))
    // Those that were on their way, and then nobody knocks at the closed door.
    await vi.waitFor(() => expect(asked(stub)).toHaveLength(30))
    const polls = (): number => stub.requests.filter(({ path }) => path === "/is_paused").length
    const before = polls()
    await vi.waitFor(() => expect(polls()).toBeGreaterThan(before + 3))
    expect(asked(stub)).toHaveLength(30)
    stub.resume()
    expect(await Promise.all(answers)).toHaveLength(30)
  })

  test("that is paused for too long says so", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { waitMs: 30 })
    stub.pause("refuse")
    const failure = { code: "inference-timeout", message: expect.stringMatching(/is paused/) as unknown }
    await expect(pool.completeTokens(prompt, { maxTokens: 1 })).rejects.toMatchObject(failure)
  })

  test("without health checks is never struck off", async () => {
    const stub = await startStub()
    const pool = poolOf([stub], { healthChecks: false })
    await stub.close()
    const failure = { code: "inference-network" }
    await expect(pool.completeTokens(prompt, { maxTokens: 1 })).rejects.toMatchObject(failure)
    expect(pool.status()[0]?.state).toBe("well")
  })
})

test("metrics have the original's names, by server and split", async () => {
  const stubs = [await startStub(), await startStub()]
  const pool = poolOf(stubs)
  expect(pool.metrics()).toEqual({})
  stubs[0]?.fail({ kind: "status", status: 500 })
  for (let i = 0; i < 4; i++) {
    // oxlint-disable-next-line no-await-in-loop
    await pool.completeTokens(prompt, { maxTokens: 1 })
  }
  await pool.completeTokens(prompt, { maxTokens: 1 }, { split: "eval" })
  const metrics = pool.metrics()
  const train = ["request_time_avg", "request_time_std", "request_time_99p", "average_num_attempts"]
  expect(Object.keys(metrics)).toEqual(expect.arrayContaining(train.map((name) => `server/server_1_${name}`)))
  const evaluation = Object.keys(metrics).filter((name) => name.includes("eval"))
  expect(evaluation.map((name) => name.replace(/^server\/server_\d_/, "")).toSorted()).toEqual([
    "eval_request_time_99p",
    "eval_request_time_avg",
    "eval_request_time_std",
    "eval_retry_rate",
  ])
  const attempts = [0, 1].map((index) => metrics[`server/server_${index}_average_num_attempts`] ?? 1)
  expect(Math.max(...attempts)).toBeGreaterThan(1)
})

test("tells the oldest version that a server has", async () => {
  const stubs = [await startStub(), await startStub()]
  stubs[0]!.version = "step-7"
  stubs[1]!.version = "step-6"
  const pool = poolOf(stubs)
  expect(await pool.policyVersion()).toBe(6)
  await pool.health()
})

test("needs a server", () => {
  expect(() => new ServerPool([])).toThrow(/at least one/)
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}
