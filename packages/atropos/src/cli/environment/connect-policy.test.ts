import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

import { expect, onTestFinished, test } from "vitest"

import { createModelStub, type ModelStub, type ModelStubOptions } from "../../inference/stub/model-stub.ts"
import { stubTokenizerFiles } from "../../inference/stub/tokenizer/stub-tokenizer.ts"
import { connectPolicy, type Policy } from "./connect-policy.ts"
import { readNamespacedFlags } from "./read-namespaced-flags.ts"
import { resolveConfiguration } from "./resolve-configuration.ts"

function tokenizerDirectory(name = "tokenizer"): string {
  const directory = mkdtempSync(join(tmpdir(), "atropos-policy-"))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, name))
  for (const [file, text] of Object.entries(stubTokenizerFiles)) writeFileSync(join(directory, name, file), text ?? "")
  return join(directory, name)
}

async function stub(options: ModelStubOptions = {}): Promise<ModelStub> {
  const opened = await createModelStub(options)
  onTestFinished(() => opened.close())
  return opened
}

async function connect(flags: string[], environment: Record<string, string> = {}, helpers = {}): Promise<Policy> {
  const tokenizer = flags.some((flag) => flag.startsWith("--env.tokenizer_name"))
    ? []
    : ["--env.tokenizer_name", tokenizerDirectory()]
  const { flags: read } = readNamespacedFlags([...flags, ...tokenizer])
  const about = { name: "tiny", helpers }
  const policy = await connectPolicy(resolveConfiguration({ about, flags: read, file: null }), { environment })
  onTestFinished(() => policy.close())
  return policy
}

const request = { maxTokens: 4 }

interface Received {
  path: string
  key: string | undefined
  body: Record<string, unknown>
}

/** An OpenAI-compatible server that keeps what it was asked, and answers when `answer` lets it. */
async function provider(answer: () => Promise<void> = async () => {}): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = []
  const server = createServer((incoming, response) => {
    void (async () => {
      const pieces: Buffer[] = []
      for await (const piece of incoming) pieces.push(piece as Buffer)
      const text = Buffer.concat(pieces).toString()
      const body = text === "" ? {} : (JSON.parse(text) as Record<string, unknown>)
      received.push({ path: incoming.url ?? "", key: incoming.headers.authorization, body })
      await answer()
      response.setHeader("content-type", "application/json")
      const message = { role: "assistant", content: "hello" }
      const choices = [{ index: 0, message, finish_reason: "stop" }]
      const usage = { prompt_tokens: 1, completion_tokens: 1 }
      response.end(JSON.stringify({ id: "x", object: "chat.completion", model: "m", choices, usage }))
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, received }
}

const ask = async (policy: Policy, options = {}): Promise<unknown> =>
  policy.server.chat({ messages: [{ role: "user", content: "hi" }], sampling: request }, options)

test("base_url, api_key and model_name go into the requests", async () => {
  const { url, received } = await provider()
  await ask(
    await connect(["--openai.base_url", url, "--openai.api_key", "secret", "--openai.model_name", "tiny-model"]),
  )
  expect(received.at(-1)).toMatchObject({
    path: "/v1/chat/completions",
    key: "Bearer secret",
    body: { model: "tiny-model" },
  })
})

test("api_key null takes OPENAI_API_KEY, and without it says so", async () => {
  const { url, received } = await provider()
  const flags = ["--openai.base_url", url, "--openai.api_key", "None"]
  await ask(await connect(flags, { OPENAI_API_KEY: "from-the-environment" }))
  expect(received.at(-1)?.key).toBe("Bearer from-the-environment")
  await expect(connect(flags)).rejects.toThrow(/OPENAI_API_KEY is not set/)
})

test("server_type chooses how the server is spoken to", async () => {
  const { url } = await stub()
  for (const type of ["vllm", "sglang"]) {
    const policy = await connect(["--openai.base_url", `${url}/v1`, "--openai.server_type", type])
    const { choices } = await policy.server.completeTokens(policy.tokenizer.encode("count:"), request)
    expect(choices[0]?.tokenIds.length).toBeGreaterThan(0)
    expect(policy.server.status()[0]?.name.toLowerCase()).toContain(type)
  }
})

test("env.tokenizer_name is the policy's tokenizer; openai.tokenizer_name one server's own", async () => {
  const directory = tokenizerDirectory("mine")
  const policy = await connect(["--env.tokenizer_name", directory, "--openai.base_url", "http://127.0.0.1:1/v1"])
  expect(policy.tokenizer.name).toBe(directory)
  // TRL answers with ids alone, so its adapter takes the tokenizer of its own server, where one is named.
  const missing = ["--openai.server_type", "trl", "--openai.base_url", "http://127.0.0.1:1", "--openai.tokenizer_name"]
  await expect(connect([...missing, join(directory, "nowhere")])).rejects.toThrow(/nowhere/)
  await connect([...missing, directory])
})

test("a tokenizer that is not there is said with the flag that names another", async () => {
  await expect(connect(["--env.tokenizer_name", "/nowhere"])).rejects.toThrow(
    /no directory \/nowhere.*--env\.tokenizer_name.*--testing/,
  )
})

test("timeout bounds a request", async () => {
  const { url, received } = await provider(() => new Promise(() => {}))
  const policy = await connect(["--openai.base_url", url, "--openai.timeout", "1", "--openai.health_check", "false"])
  await Promise.race([ask(policy).catch(() => {}), expect.poll(() => received.length, { timeout: 15_000 }).toBe(2)])
  // Given up after a second, and tried once more.
  expect(received).toHaveLength(2)
}, 30_000)

test("num_max_requests_at_once and num_requests_for_eval bound what a server has to do, times the weight", async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const { url, received } = await provider(() => promise)
  const flags = ["--openai.num_max_requests_at_once", "4", "--openai.num_requests_for_eval", "2"]
  const policy = await connect(["--openai.base_url", url, "--openai.health_check", "false", ...flags])
  policy.server.setWeight(0.5)
  const train = Array.from({ length: 6 }, () => ask(policy))
  const evaluation = Array.from({ length: 6 }, () => ask(policy, { split: "eval" }))
  await expect.poll(() => received.length, { timeout: 15_000 }).toBe(3)
  expect(policy.server.status()).toMatchObject([{ train: 2, eval: 1 }])
  resolve()
  await Promise.all([...train, ...evaluation])
  expect(policy.evaluationConcurrency).toBe(2)
})

test("rolling_buffer_length is how far the metrics look back", async () => {
  let delayed = true
  const { url } = await provider(async () => {
    if (delayed) await new Promise((resolve) => setTimeout(resolve, 50))
    delayed = false
  })
  const averages: (number | undefined)[] = []
  for (const length of ["1", "1000"]) {
    delayed = true
    const policy = await connect([
      "--openai.base_url",
      url,
      "--openai.rolling_buffer_length",
      length,
      "--openai.health_check",
      "false",
    ])
    for (let count = 0; count < 3; count++) await ask(policy)
    averages.push(policy.server.metrics()["server/server_0_request_time_99p"])
  }
  expect(averages[0]).toBeLessThan(0.04)
  expect(averages[1]).toBeGreaterThan(0.04)
})

test("n_kwarg_is_ignored asks for each answer by itself", async () => {
  const { url, received } = await provider()
  const policy = await connect([
    "--openai.base_url",
    url,
    "--openai.n_kwarg_is_ignored",
    "true",
    "--openai.health_check",
    "false",
  ])
  const sampling = { ...request, n: 3 }
  const { choices } = await policy.server.chat({ messages: [{ role: "user", content: "hi" }], sampling })
  expect(choices).toHaveLength(3)
  expect(received.map(({ body }) => body["n"] ?? 1)).toEqual([1, 1, 1])
})

test("max_n_completions splits requests for more answers", async () => {
  const opened = await stub({ dialect: "vllm" })
  const flags = ["--openai.base_url", opened.baseUrl, "--openai.server_type", "vllm", "--max_n_completions", "2"]
  const policy = await connect(flags)
  const { choices } = await policy.server.completeTokens(policy.tokenizer.encode("count:"), { ...request, n: 5 })
  expect(choices).toHaveLength(5)
  const asked = opened.requests.filter(({ path }) => path === "/v1/completions").map(({ body }) => Number(body["n"]))
  expect(asked.toSorted((a, b) => a - b)).toEqual([1, 2, 2])
})

test("health_check false never strikes a server off", async () => {
  const { url } = await provider()
  const port = new URL(url).port
  const unwell = async (flags: string[]): Promise<string | undefined> => {
    const policy = await connect([
      "--openai.base_url",
      "http://127.0.0.1:1/v1",
      "--openai.server_type",
      "vllm",
      ...flags,
    ])
    const asking = policy.server.completeTokens([1], request, { signal: AbortSignal.timeout(1200) }).catch(() => {})
    await asking
    return policy.server.status()[0]?.state
  }
  expect(port).not.toBe("1")
  expect(await unwell([])).toBe("unhealthy")
  expect(await unwell(["--openai.health_check", "false"])).toBe("well")
}, 30_000)

test("thinking is asked for when switched on, by an effort or by a budget", async () => {
  const { url, received } = await provider()
  const reasoningOf = async (...flags: string[]): Promise<unknown> => {
    await ask(await connect(["--openai.base_url", url, "--openai.health_check", "false", ...flags]))
    return received.at(-1)?.body["reasoning"]
  }
  expect(await reasoningOf()).toBeUndefined()
  expect(await reasoningOf("--env.thinking_mode", "true")).toMatchObject({ enabled: true })
  expect(await reasoningOf("--env.reasoning_effort", "high")).toMatchObject({ enabled: true, effort: "high" })
  expect(await reasoningOf("--env.max_reasoning_tokens", "2048")).toMatchObject({ enabled: true, max_tokens: 2048 })
  await expect(reasoningOf("--env.reasoning_effort", "extreme")).rejects.toThrow(/none, minimal, low/)
})

test("without an address the four usual ports are asked, with settings alike", async () => {
  const policy = await connect(["--openai.model_name", "m"])
  expect(policy.serverCount).toBe(4)
  expect(policy.server.status().map(({ name }) => name)).toEqual(
    [9004, 9005, 9006, 9007].map((port) => expect.stringContaining(`localhost:${port}`) as string),
  )
})

test("slurm takes the servers of the job's nodes", async () => {
  const environment = { SLURM_JOB_NODELIST: "gpu[1-3]", NUM_TRAINING_NODES: "1", INFER_TP: "4" }
  const policy = await connect(["--slurm", "true"], environment)
  expect(policy.serverCount).toBe(4)
  expect(policy.server.status()[0]?.name).toContain("gpu2:9000")
  await expect(connect(["--slurm", "true"])).rejects.toThrow(/SLURM_JOB_NODELIST is not set/)
})

test("testing puts a stub in the place of all servers", async () => {
  const policy = await connect(["--testing"], {}, { judge: { modelName: "j" } })
  const { choices } = await policy.server.completeTokens(policy.tokenizer.encode("hello"), request)
  expect(choices).toHaveLength(1)
  const judged = await policy.helpers["judge"]?.chat({ messages: [{ role: "user", content: "hi" }], sampling: request })
  expect(judged?.choices).toHaveLength(1)
})

test("helpers are servers of their own", async () => {
  const { url, received } = await provider()
  const policy = await connect(
    ["--openai.base_url", "http://127.0.0.1:1/v1", "--judge.base_url", url, "--judge.health_check", "false"],
    {},
    { judge: { modelName: "judge-model" } },
  )
  const { judge } = policy.helpers
  await judge?.chat({ messages: [{ role: "user", content: "better?" }] })
  expect(received.at(-1)?.body).toMatchObject({ model: "judge-model" })
})
