// What an environment costs: `node bench/environment.ts`. A thousand rollouts of three turns in flight on a stub that
// answers at once, in a process of its own; the baseline, in rounds that take turns, is the same requests through the
// same pool without an environment: no sessions, templates, tokens, scores or groups.
// CPU is this process's, user and system: what one core can do. With `--short` it takes seconds and fails on a gross loss.
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

import { environmentConfig } from "../packages/atropos/src/environment/config/environment-config.ts"
import { toWireGroup } from "../packages/atropos/src/environment/groups/to-wire.ts"
import { createRandom } from "../packages/atropos/src/environment/random.ts"
import { collectItem } from "../packages/atropos/src/environment/rollouts/collect-item.ts"
import { createSessionFactory } from "../packages/atropos/src/environment/session-factory.ts"
import { ScriptedPolicy } from "../packages/atropos/src/environment/testing/scripted-policy.ts"
import { ServerPool } from "../packages/atropos/src/inference/pool/server-pool.ts"
import { openServer } from "../packages/atropos/src/inference/servers/open-server.ts"
import { createStubTokenizer } from "../packages/atropos/src/inference/stub/tokenizer/stub-tokenizer.ts"
import { silentLogger } from "../packages/atropos/src/runtime/logger.ts"
import { median } from "./server/bytes/measure.ts"
import { startStubProcess } from "./pool/stub-process.ts"
import { answerTokens, Conversation, turns } from "./environment/conversation.ts"

const short = process.argv.includes("--short")
const inFlight = 1000
const groupSize = 8
const rounds = short ? 2 : 5
const rolloutsPerRound = short ? 1000 : 3000

const tokenizer = createStubTokenizer()
const config = environmentConfig.parse({
  groupSize,
  maxTokenLength: answerTokens,
  ensureScoresAreNotSame: false,
  workerTimeout: -1,
})
const environment = new Conversation({ config, logger: silentLogger, random: createRandom(1), tokenizer, helpers: {} })

interface Cost {
  rolloutsPerSecond: number
  cpuMs: number
}

const stub = await startStubProcess()
const pool = new ServerPool([
  { server: openServer("vllm", { baseUrl: stub.baseUrl, model: "m" }), trainPlaces: inFlight },
])
const failures: string[] = []
try {
  const openSession = createSessionFactory({ policy: pool, tokenizer, config, maxTokenLen: () => -1 })
  const environmentCosts: Cost[] = []
  const bareCosts: Cost[] = []
  await measure(inFlight, environmentRollouts)
  for (let round = 0; round < rounds; round++) {
    environmentCosts.push(await measure(rolloutsPerRound, environmentRollouts))
    bareCosts.push(await measure(rolloutsPerRound, bareRollouts))
  }
  report("environment, 3 turns", environmentCosts)
  report("the requests alone", bareCosts)
  const perCore = median(environmentCosts.map(({ cpuMs }) => 1000 / cpuMs))
  console.log(`\n${perCore.toFixed(0)} rollouts/s on one core   (target 500) ${perCore >= 500 ? "met" : "MISSED"}`)
  // CPU seconds on a busy machine say little; beside the bare requests they do.
  const ratio = median(environmentCosts.map(({ cpuMs }) => cpuMs)) / median(bareCosts.map(({ cpuMs }) => cpuMs))
  console.log(`${ratio.toFixed(2)} times the CPU of the requests alone`)
  if (ratio > 6) failures.push(`a rollout costs ${ratio.toFixed(1)} times its requests`)

  async function environmentRollouts(count: number): Promise<void> {
    let items = 0
    const worker = async (): Promise<void> => {
      while (items < count / groupSize) {
        const number = items++
        const { groups, failures: failed } = await collectItem({
          environment,
          item: number,
          config,
          limits: { ...config, maxTokenLen: -1 },
          random: createRandom(number),
          signal: new AbortController().signal,
          logger: silentLogger,
          step: 0,
          openSession,
        })
        if (failed.length > 0) throw failed[0]?.cause
        for (const group of groups)
          JSON.stringify(toWireGroup(group, { includeMessages: false, tokenizer, environmentId: 0 }))
      }
    }
    await Promise.all(Array.from({ length: inFlight / groupSize }, worker))
  }

  async function bareRollouts(count: number): Promise<void> {
    const prompt = tokenizer.encode("a prompt of about the same length as a conversation in its middle ".repeat(8))
    let begun = 0
    const worker = async (): Promise<void> => {
      while (begun++ < count) {
        for (let turn = 0; turn < turns; turn++) await pool.completeTokens(prompt, { maxTokens: answerTokens })
      }
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
  }
} finally {
  await pool.close()
  stub.stop()
}
await measureMemory()
for (const failure of failures) console.error(failure)
if (short && failures.length > 0) process.exitCode = 1

async function measure(count: number, run: (count: number) => Promise<void>): Promise<Cost> {
  const began = performance.now()
  const cpu = process.cpuUsage()
  await run(count)
  const used = process.cpuUsage(cpu)
  return {
    rolloutsPerSecond: count / ((performance.now() - began) / 1000),
    cpuMs: (used.user + used.system) / 1000 / count,
  }
}

function report(name: string, costs: readonly Cost[]): void {
  const cpu = costs.map(({ cpuMs }) => cpuMs)
  const speed = costs.map(({ rolloutsPerSecond }) => rolloutsPerSecond)
  console.log(
    `${name.padEnd(24)} ${median(cpu).toFixed(2).padStart(6)} ms CPU a rollout (${Math.min(...cpu).toFixed(2)} to ${Math.max(...cpu).toFixed(2)}), ` +
      `${median(speed).toFixed(0)} rollouts/s by the clock, stub included`,
  )
}

/** Heap of rollouts that wait for their last answer. */
async function measureMemory(): Promise<void> {
  setFlagsFromString("--expose-gc")
  const collectGarbage = runInNewContext("gc") as () => void
  const release = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let waiting = 0
  const policy = new ScriptedPolicy({
    tokenizer,
    answer: async ({ turn }) => {
      if (turn === turns - 1) {
        if (++waiting === inFlight) reached.resolve()
        await release.promise
      }
      return "an answer of some words, the same each time, twenty tokens or so"
    },
  })
  const openSession = createSessionFactory({
    policy: ({ agent }) => policy.forSession(agent),
    tokenizer,
    config,
    maxTokenLen: () => -1,
  })
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  const running = Array.from({ length: inFlight / groupSize }, (_, number) =>
    collectItem({
      environment,
      item: number,
      config,
      limits: { ...config, maxTokenLen: -1 },
      random: createRandom(number),
      signal: new AbortController().signal,
      logger: silentLogger,
      step: 0,
      openSession,
    }),
  )
  await reached.promise
  // What the double keeps of the calls is not the environment's.
  policy.calls.length = 0
  collectGarbage()
  const kilobytes = (process.memoryUsage().heapUsed - before) / inFlight / 1024
  console.log(`${kilobytes.toFixed(1)} KB of heap for a rollout in flight, with its three turns`)
  if (kilobytes > 200) failures.push(`${kilobytes.toFixed(0)} KB of heap for a rollout in flight`)
  release.resolve()
  await Promise.all(running)
}
