// What a pool costs and how it shares: `node bench/pool.ts`. A thousand callers ask a stub that answers at once; the
// baselines, in rounds that take turns, are the same requests by undici alone and by the adapter without a pool.
// With `--short` it takes seconds and fails on a gross loss.
import { Agent, request } from "undici"

import { openServer } from "../packages/atropos/src/inference/servers/open-server.ts"
import { ServerPool } from "../packages/atropos/src/inference/pool/server-pool.ts"
import { startStubProcess } from "./pool/stub-process.ts"

const short = process.argv.includes("--short")
const rounds = short ? 3 : 5
const requestsPerRound = short ? 1000 : 4000
const callers = 1000
const places = 512
const prompt = Array.from({ length: 200 }, (_, index) => 10 + (index % 700))
const sampling = { maxTokens: 32, ignoreEos: true }

interface Cost {
  requestsPerSecond: number
  /** Of this process, user and system. */
  cpuMicroseconds: number
}

const failures: string[] = []
const stub = await startStubProcess()
try {
  await measureCost()
  await measureFairness()
} finally {
  stub.stop()
}
await measureStickiness()
for (const failure of failures) console.error(failure)
if (short && failures.length > 0) process.exitCode = 1

async function measureCost(): Promise<void> {
  const agent = new Agent({ keepAliveTimeout: 4000 })
  const adapter = openServer("vllm", { baseUrl: stub.baseUrl, model: "m" })
  const pooled = openServer("vllm", { baseUrl: stub.baseUrl, model: "m" })
  const pool = new ServerPool([{ server: pooled, trainPlaces: places }])
  // The very body that the adapter sends.
  const body = {
    prompt,
    model: "m",
    n: 1,
    max_tokens: 32,
    temperature: 1,
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    ignore_eos: true,
    logprobs: 0,
    return_weight_versions: true,
    return_token_ids: true,
  }
  const ways = [
    {
      name: "undici alone",
      inFlight: places,
      call: async () => {
        const response = await request(`${stub.baseUrl}/completions`, {
          dispatcher: agent,
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
        })
        await response.body.json()
      },
    },
    { name: "adapter", inFlight: places, call: () => adapter.completeTokens(prompt, sampling) },
    { name: `pool, ${callers} callers`, inFlight: callers, call: () => pool.completeTokens(prompt, sampling) },
  ]
  const costs = ways.map((): Cost[] => [])
  for (let round = -1; round < rounds; round++) {
    for (const [index, way] of ways.entries()) {
      const cost = await measure(way.inFlight, way.call)
      // The first one warms up.
      if (round >= 0) costs[index]?.push(cost)
    }
  }
  console.log(
    `\n${requestsPerRound} requests a round of 200 tokens for 32, ${places} in flight; medians of ${rounds} rounds\n`,
  )
  const shown = costs.map((list) => ({
    rate: list.map(({ requestsPerSecond }) => requestsPerSecond).toSorted((a, b) => a - b),
    cpu: list.map(({ cpuMicroseconds }) => cpuMicroseconds).toSorted((a, b) => a - b),
  }))
  for (const [index, { rate, cpu }] of shown.entries()) {
    console.log(
      `${ways[index]?.name.padEnd(24)} ${median(rate).toFixed(0).padStart(6)} requests/s (${rate[0]?.toFixed(0)}–${rate.at(-1)?.toFixed(0)})` +
        `  ${median(cpu).toFixed(0).padStart(4)} µs CPU a request (${cpu[0]?.toFixed(0)}–${cpu.at(-1)?.toFixed(0)})`,
    )
  }
  const [bare = 0, alone = 0, whole = 0] = shown.map(({ cpu }) => median(cpu))
  console.log(`\nadded by the adapter: ${(alone - bare).toFixed(0)} µs, by the pool: ${(whole - alone).toFixed(0)} µs`)
  if (whole - alone > Math.max(150, alone)) failures.push(`the pool adds ${(whole - alone).toFixed(0)} µs a request`)
  if (median(shown[2]?.rate ?? []) < 200) failures.push("the pool makes less than 200 requests/s")
  await pool.close()
  await adapter.close()
  await agent.close()
}

async function measure(inFlight: number, call: () => Promise<unknown>): Promise<Cost> {
  let left = requestsPerRound
  const caller = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      await call()
    }
  }
  const before = process.cpuUsage()
  const started = performance.now()
  await Promise.all(Array.from({ length: inFlight }, caller))
  const seconds = (performance.now() - started) / 1000
  const used = process.cpuUsage(before)
  return {
    requestsPerSecond: requestsPerRound / seconds,
    cpuMicroseconds: (used.user + used.system) / requestsPerRound,
  }
}

/** A thousand training callers and a hundred for evaluation on few places: who gets how much, and how long all wait. */
async function measureFairness(): Promise<void> {
  const server = openServer("vllm", { baseUrl: stub.baseUrl, model: "m" })
  const pool = new ServerPool([{ server, trainPlaces: 64, evalPlaces: 16 }])
  const seconds = short ? 2 : 8
  const waits: number[] = []
  const askUntil = async (until: number, split: "train" | "eval"): Promise<number> => {
    let count = 0
    while (performance.now() < until) {
      const started = performance.now()
      await pool.completeTokens([1, 50], { maxTokens: 4 }, { split })
      waits.push(performance.now() - started)
      // What ends later came from the queue that the end left behind.
      if (performance.now() < until) count += 1
    }
    return count
  }
  const askAll = (count: number, split: "train" | "eval"): Promise<number[]> => {
    const until = performance.now() + seconds * 1000
    return Promise.all(Array.from({ length: count }, () => askUntil(until, split)))
  }
  const train = await askAll(callers, "train")
  waits.sort((a, b) => a - b)
  const [half = 0, most = 0] = [0.5, 0.99].map((share) => waits[Math.floor(waits.length * share)] ?? 0)
  const [mixedTrain, mixedEval] = await Promise.all([askAll(callers, "train"), askAll(100, "eval")])
  const sorted = train.toSorted((a, b) => a - b)
  const sum = (list: readonly number[]): number => list.reduce((total, value) => total + value, 0)
  console.log(
    `\n${callers} callers on 64 places for ${seconds} s: each got ${sorted[0]} to ${sorted.at(-1)} answers; ` +
      `${half.toFixed(0)} ms each, 99 % within ${most.toFixed(0)} ms`,
  )
  const share = sum(mixedEval) / (sum(mixedEval) + sum(mixedTrain))
  console.log(
    `with 100 evaluation callers on 16 places beside them: ${(100 * share).toFixed(0)} % of the answers are evaluation's (20 % of the places)`,
  )
  if ((sorted.at(-1) ?? 0) - (sorted[0] ?? 0) > 2) failures.push("some callers get more than others")
  const enough = sum(mixedTrain) + sum(mixedEval) > 200
  if (enough && (share < 0.1 || share > 0.4))
    failures.push(`evaluation gets ${(100 * share).toFixed(0)} % of the answers for 20 % of the places`)
  await pool.close()
}

/** Conversations of ten turns on four servers. */
async function measureStickiness(): Promise<void> {
  const stubs = await Promise.all([1, 2, 3, 4].map(() => startStubProcess()))
  try {
    const servers = stubs.map(({ baseUrl }) => openServer("vllm", { baseUrl, model: "m" }))
    const seen = new Map<string, Set<number>>()
    const load = servers.map(() => 0)
    const members = servers.map((server, index) => ({
      server: {
        ...bind(server),
        completeTokens: (...[ids, wanted, options]: Parameters<typeof server.completeTokens>) => {
          const key = options?.stickyKey ?? ""
          seen.set(key, (seen.get(key) ?? new Set()).add(index))
          load[index] = (load[index] ?? 0) + 1
          return server.completeTokens(ids, wanted, options)
        },
      },
      trainPlaces: 64,
    }))
    const pool = new ServerPool(members)
    const conversations = Array.from({ length: short ? 100 : 1000 }, async (_, index) => {
      for (let turn = 0; turn < 10; turn++) {
        await pool.completeTokens([1, 50, turn + 3], { maxTokens: 4 }, { stickyKey: `conversation ${index}` })
      }
    })
    await Promise.all(conversations)
    const moved = [...seen.values()].filter(({ size }) => size > 1).length
    console.log(
      `\n${seen.size} conversations of 10 turns on 4 servers: ${moved} moved; the servers got ${load.join(", ")} requests`,
    )
    if (moved > 0) failures.push(`${moved} conversations left their server`)
    // With more conversations than places the faster servers get more of them.
    if (short && Math.max(...load) > 1.5 * Math.min(...load)) failures.push("the servers' loads are far apart")
    await pool.close()
  } finally {
    for (const process of stubs) process.stop()
  }
}

function bind(server: ReturnType<typeof openServer>): ReturnType<typeof openServer> {
  return {
    name: server.name,
    baseUrl: server.baseUrl,
    completeTokens: server.completeTokens.bind(server),
    chat: server.chat.bind(server),
    complete: server.complete.bind(server),
    promptLogprobs: server.promptLogprobs.bind(server),
    health: server.health.bind(server),
    policyVersion: server.policyVersion.bind(server),
    call: server.call.bind(server),
    close: server.close.bind(server),
  }
}

function median(sorted: readonly number[]): number {
  return sorted[Math.floor(sorted.length / 2)] ?? 0
}
