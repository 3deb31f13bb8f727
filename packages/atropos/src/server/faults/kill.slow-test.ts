import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, it } from "vitest"
import type { ScoredGroup } from "../../protocol/messages.ts"
import { TrajectoryClient } from "../../protocol/trajectory-client.ts"
import { isAtroposError } from "../../runtime/errors.ts"
import { silentLogger } from "../../runtime/logger.ts"
import { LiveRun } from "../live/live-run.ts"
import { openSqliteStore } from "../stores/sqlite/sqlite-store.ts"
import { DoomedServer } from "./doomed-server.ts"
import { pushLikePython } from "./python-producer.ts"

/** More rounds find rarer moments. */
const rounds = Number(process.env["ATROPOS_KILL_ROUNDS"] ?? 20)
const batchSize = 8
const groupSize = 4

let directory: string
let server: DoomedServer
let client: TrajectoryClient

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "atropos-kill-"))
  server = await DoomedServer.create(directory)
  await server.start()
  client = new TrajectoryClient({ url: server.url, retry: { firstWaitMs: 20, longestWaitMs: 200 } })
  await client.register(registration)
  await client.batch()
  await client.registerEnvironment(environment)
})
afterEach(async () => {
  await client.close({ flushTimeoutMs: 0 })
  await server.kill()
  rmSync(directory, { recursive: true })
})

const registration = {
  wandb_group: "g",
  wandb_project: "p",
  batch_size: batchSize,
  max_token_len: 64,
  checkpoint_dir: "c",
  save_checkpoint_interval: 5,
  starting_step: 100,
  num_steps: 1e6,
}

const environment = { desired_name: "kill", max_token_length: 64, group_size: groupSize, weight: 1 }

let lastId = 0

/** A group that its first token tells from all others. Some are of the env, in parts that wait in its buffer; some are large. */
function nextGroup(): ScoredGroup {
  const id = ++lastId
  const size = [4, 1, 2, 3, 1, 1, 2, 2][id % 8]!
  const length = id % 29 === 0 ? 20_000 : 5
  const tokens = Array.from({ length: size }, () => [id, ...Array<number>(length).fill(7)])
  return { tokens, masks: tokens, scores: tokens.map(() => 0.5), env_id: id % 3 === 0 ? null : 0 }
}

const idOf = (group: Pick<ScoredGroup, "tokens">): number => group.tokens[0]![0]!

interface Counts {
  /** Ids whose push was acknowledged. */
  acknowledged: Set<number>
  /** How often each id came in a batch that counts. */
  trained: Map<number, number>
  batches: number
}

/** Pushes and pulls without pause while the server is killed again and again; then pulls what is left. */
async function trainUnderFire(
  nextBatch: (counts: Counts) => Promise<boolean>,
  { trainers = 1 }: { trainers?: number } = {},
): Promise<Counts> {
  const counts: Counts = { acknowledged: new Set(), trained: new Map(), batches: 0 }
  const over = new AbortController()
  const produce = async (push: (group: ScoredGroup) => Promise<boolean>): Promise<void> => {
    while (!over.signal.aborted) {
      const group = nextGroup()
      if (await push(group)) counts.acknowledged.add(idOf(group))
    }
  }
  const viaClient = async (group: ScoredGroup): Promise<boolean> => (await client.pushGroup(group)).status !== undefined
  const viaPython = (group: ScoredGroup): Promise<boolean> => pushLikePython(server.url, group)
  const train = async (): Promise<void> => {
    while (!over.signal.aborted) await nextBatch(counts)
  }
  const work = [...Array(4).fill(viaClient), viaPython, viaPython].map(produce)
  const training = Promise.all(Array.from({ length: trainers }, train))
  try {
    for (let round = 0; round < rounds; round++) await server.killWithin(700)
  } finally {
    over.abort()
  }
  await Promise.all([...work, training])
  await drain(counts, nextBatch)
  return counts
}

/** Fills up the buffer and the last batch with groups that no one counts, until nothing is left. */
async function drain(counts: Counts, nextBatch: (counts: Counts) => Promise<boolean>): Promise<void> {
  const filler = (env: number | null): ScoredGroup => ({
    tokens: [[0, ++lastId]],
    masks: [[1, 1]],
    scores: [0],
    env_id: env,
  })
  for (;;) {
    const { buffer_size = 0 } = await client.pushGroup(filler(0))
    if (buffer_size === 0) break
  }
  for (;;) {
    if (await nextBatch(counts)) continue
    if ((await client.status()).queue_size === 0) break
    await client.pushGroup(filler(null))
  }
}

function count({ trained }: Counts, groups: readonly Pick<ScoredGroup, "tokens">[]): void {
  for (const group of groups) trained.set(idOf(group), (trained.get(idOf(group)) ?? 0) + 1)
  trained.delete(0)
}

const lostOf = ({ acknowledged, trained }: Counts): number[] => [...acknowledged].filter((id) => !trained.has(id))
const repeatedOf = ({ trained }: Counts): number[] => [...trained].flatMap(([id, times]) => (times > 1 ? [id] : []))

async function expectRunSurvived(counts: Counts): Promise<void> {
  expect(await client.info()).toEqual({ batch_size: batchSize, max_token_len: 64 })
  expect(await client.wandbInfo()).toEqual({ group: "g", project: "p" })
  expect((await client.environmentStatus(0)).registered).toBeUndefined()
  // A busy machine may let an answer time out, and then the environment registers once more.
  const answer = await client.registerEnvironment(environment)
  const id = answer.status === "success" ? answer.env_id : 0
  expect(id).toBeGreaterThanOrEqual(1)
  expect(answer).toMatchObject({ wandb_name: `kill_${id}`, checkpoint_dir: "c" })
  const slowest = Math.round(Math.max(...server.startTimesMs))
  process.stderr.write(
    `${rounds} kills: ${counts.acknowledged.size} groups acknowledged, ${counts.batches} batches, slowest start ${slowest} ms\n`,
  )
  expect(counts.acknowledged.size).toBeGreaterThan(rounds)
  expect(counts.batches).toBeGreaterThan(rounds)
}

/**
 * Every delivered batch is a step, also one that went back to the queue: its trainer was told too late, or its answer
 * was lost after the server had handed it to the system. Leaves the server dead.
 */
async function expectStepToCount(counts: Counts): Promise<void> {
  await server.kill()
  const live = await LiveRun.open({ store: await openSqliteStore({ directory }), logger: silentLogger, now: Date.now })
  const { step, batches } = live.run
  await live.close()
  process.stderr.write(`step ${step}, ${batches.returned.size} batches went back to the queue\n`)
  expect(Number(step)).toBe(registration.starting_step + counts.batches + batches.returned.size)
}

/** Takes a batch, which counts once it is acknowledged. */
async function takeAndAcknowledge(counts: Counts): Promise<boolean> {
  const { batch, batch_id } = await client.batch({ ack: "manual", waitSeconds: 0.1 })
  if (batch === null || batch_id === undefined) return false
  expect(batch.reduce((sum, { tokens }) => sum + tokens.length, 0)).toBe(batchSize)
  try {
    await client.acknowledge(batch_id)
  } catch (error) {
    // Its lease ran out while the server was away, or it was handed out again: its groups come again.
    if (isAtroposError(error, "server-refused") && error.facts["status"] === 409) return true
    throw error
  }
  counts.batches += 1
  count(counts, batch)
  return true
}

it(`of what was acknowledged under ${rounds} kills, a trainer that acknowledges gets everything exactly once`, async () => {
  const counts = await trainUnderFire(takeAndAcknowledge)
  expect({ lost: lostOf(counts), repeated: repeatedOf(counts) }).toEqual({ lost: [], repeated: [] })
  await expectRunSurvived(counts)
  await expectStepToCount(counts)
})

it(`of what was acknowledged under ${rounds} kills, several trainers get everything, each group only one of them`, async () => {
  const counts = await trainUnderFire(takeAndAcknowledge, { trainers: 3 })
  expect({ lost: lostOf(counts), repeated: repeatedOf(counts) }).toEqual({ lost: [], repeated: [] })
  await expectRunSurvived(counts)
  await expectStepToCount(counts)
})

it(`of what was acknowledged under ${rounds} kills, a plain trainer gets everything, and again only whole batches`, async () => {
  const seen = new Map<string, number>()
  const counts = await trainUnderFire(async (so) => {
    const { batch } = await client.batch()
    if (batch === null) return false
    const ids = batch.map(idOf).join()
    if (!ids.split(",").includes("0")) seen.set(ids, (seen.get(ids) ?? 0) + 1)
    so.batches += 1
    count(so, batch)
    return true
  })
  expect(lostOf(counts)).toEqual([])
  const repeatedInBatches = [...seen].flatMap(([ids, times]) => (times > 1 ? ids.split(",").map(Number) : []))
  expect(repeatedOf(counts).filter((id) => !repeatedInBatches.includes(id))).toEqual([])
  await expectRunSurvived(counts)
})
